//===- Passes.cpp - mpc-find-reuse and mpc-emit-kernels -------------------------===//
#include "passes/Lowering/EmitKernels/Passes.h"
#include "passes/Lowering/EmitKernels/KernelEmitter.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_FINDREUSEPASS
#define GEN_PASS_DEF_EMITKERNELSPASS
#include "passes/Lowering/EmitKernels/Passes.h.inc"
} // namespace mpc

/// Calls `body` for every dispatch that is a launch of its own; members of a batch are part of the batch.
static LogicalResult forEachLaunched(ModuleOp module, llvm::function_ref<LogicalResult(kernel::DispatchOp)> body) {
  return failure(module
                     .walk<WalkOrder::PreOrder>([&](kernel::DispatchOp dispatch) {
                       return failed(body(dispatch)) ? WalkResult::interrupt() : WalkResult::skip();
                     })
                     .wasInterrupted());
}

namespace {
struct FindReuse : mpc::impl::FindReusePassBase<FindReuse> {
  void runOnOperation() override {
    Builder b(&getContext());
    bool gpu = kernel::gpuOf(getOperation());
    (void)forEachLaunched(getOperation(), [&](kernel::DispatchOp dispatch) {
      if (dispatch.getLibrary() || dispatch.computesNothing())
        return success();
      Reuses reuses = gpu ? gpuReusableInputs(dispatch) : reusableInputs(dispatch);
      SmallVector<Attribute> lists;
      int64_t pairs = 0;
      for (const auto &inputs : reuses) {
        lists.push_back(b.getDenseI64ArrayAttr(inputs));
        pairs += inputs.size();
      }
      // An earlier answer was for another body, perhaps.
      dispatch.removeMayReuseAttr();
      if (pairs > 0)
        dispatch.setMayReuseAttr(b.getArrayAttr(lists));
      numReusable += pairs;
      return success();
    });
  }
};

struct EmitKernels : mpc::impl::EmitKernelsPassBase<EmitKernels> {
  using EmitKernelsPassBase::EmitKernelsPassBase;
  void runOnOperation() override {
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    KernelEmitter emitter(getOperation(), std::max(1u, unsigned(units)));
    LogicalResult result = forEachLaunched(getOperation(), [&](kernel::DispatchOp dispatch) {
      if (dispatch.computesNothing() || (!gpu && dispatch.getLibrary()))
        return success();
      FailureOr<ArrayAttr> launches = emitter.add(dispatch);
      if (failed(launches))
        return failure();
      dispatch.setLaunchesAttr(*launches);
      numLaunches += launches->size();
      return success();
    });
    if (failed(result))
      return signalPassFailure();
    numKernels += emitter.size();
  }
};
} // namespace
