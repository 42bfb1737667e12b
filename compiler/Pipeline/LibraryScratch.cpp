//===- LibraryScratch.cpp - mpc-library-scratch ---------------------------------------===//
#include "compiler/Pipeline/LibraryScratch.h"
#include "compiler/Package/LibraryCalls.h"

using namespace mlir;
using namespace mpc;

namespace {
struct LibraryScratch : PassWrapper<LibraryScratch, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LibraryScratch)
  explicit LibraryScratch(LibraryScratchFn scratch) : scratch(std::move(scratch)) {}
  StringRef getName() const override { return "LibraryScratchPass"; }
  StringRef getArgument() const override { return "mpc-library-scratch"; }
  StringRef getDescription() const override { return "Asks the host's library how much memory each of its calls needs"; }

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](kernel::DispatchOp dispatch) {
      return dispatch.getLibrary() && failed(ask(dispatch)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult ask(kernel::DispatchOp dispatch) {
    FailureOr<LibraryCall> call = describeLibraryCall(dispatch);
    if (failed(call))
      return failure();
    int64_t bytes = 0;
    std::string error;
    if (scratch && !scratch(call->desc, bytes, error))
      return dispatch.emitError("no library provider computes this: ") << error;
    dispatch.removeScratchBytesAttr();
    if (bytes)
      dispatch.setScratchBytes(bytes);
    return success();
  }

  LibraryScratchFn scratch;
};
} // namespace

std::unique_ptr<Pass> mpc::createLibraryScratchPass(LibraryScratchFn scratch) { return std::make_unique<LibraryScratch>(std::move(scratch)); }
