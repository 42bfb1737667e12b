//===- LibraryScratch.cpp - mpc-library-scratch ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/LibraryScratch.h"
#include "compiler/Package/LibraryCalls.h"
#include "dialects/Support/Diagnostics.h"
#include <dlfcn.h>

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_LIBRARYSCRATCHPASS
#include "compiler/Pipeline/Passes.h.inc"
} // namespace mpc

/// Threads of one program; scratch that grows with them stays countable.
static constexpr unsigned mostThreads = 1 << 16;

mpc_library_entry_fn mpc::openLibrary(const std::string &path, std::string &why) {
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *text = dlerror();
    why = text ? text : "it cannot be loaded";
    return nullptr;
  }
  auto entry = reinterpret_cast<mpc_library_entry_fn>(dlsym(handle, MPC_LIBRARY_ENTRY));
  const mpc_library *library = entry ? entry(1) : nullptr;
  if (library && library->abi == MPC_LIBRARY_ABI)
    return entry;
  why = library ? "it has another interface version" : "it is no library provider, or does not start";
  return nullptr;
}

namespace {
struct LibraryScratch : mpc::impl::LibraryScratchPassBase<LibraryScratch> {
  explicit LibraryScratch(LibraryScratchPassOptions options = {}, mpc_library_entry_fn builtIn = nullptr)
      : LibraryScratchPassBase(std::move(options)), builtIn(builtIn) {}

  LogicalResult initialize(MLIRContext *context) override {
    if (threads > mostThreads)
      return emitErrorWithHint(UnknownLoc::get(context),
                               "mpc-library-scratch: " + Twine(unsigned(threads)) + " are too many threads",
                               "write at most " + Twine(mostThreads));
    plugin = nullptr;
    if (library.empty())
      return success();
    Location loc = NameLoc::get(StringAttr::get(context, library));
    if (threads == 0)
      return emitErrorWithHint(loc, "a library is asked what it needs with some number of threads, and there is none",
                               "add threads=N");
    std::string why;
    plugin = openLibrary(library, why);
    return plugin ? success()
                  : emitErrorWithHint(loc, "cannot be asked: " + why,
                                      "name libmpc_onednn.so of this mpc, or leave the library out");
  }

  void runOnOperation() override {
    if (kernel::gpuOf(getOperation()))
      return;
    WalkResult result = getOperation().walk([&](kernel::DispatchOp dispatch) {
      return dispatch.isContraction() && failed(setScratch(dispatch)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult setScratch(kernel::DispatchOp dispatch) {
    FailureOr<LibraryCall> call = describeLibraryCall(dispatch);
    if (failed(call))
      return failure();
    dispatch.removeScratchBytesAttr();
    if (threads == 0)
      return success();
    int64_t bytes = 0;
    bool computed = false;
    char why[256] = "";
    // A provider's primitives are made for the number of threads that was last named to it. The built-in loops use
    // other blocks on one thread (`--threads 1`) than on several, and so another amount of scratch.
    for (auto [entry, count] :
         {std::pair(builtIn, 1), std::pair(builtIn, int(threads)), std::pair(plugin, int(threads))}) {
      const mpc_library *provider = entry ? entry(count) : nullptr;
      mpc_library_primitive *primitive = provider ? provider->create(&call->desc, why, sizeof why) : nullptr;
      if (!primitive)
        continue;
      bytes = std::max(bytes, int64_t(provider->scratch_bytes(primitive)));
      provider->destroy(primitive);
      computed = true;
    }
    if (!computed)
      return emitErrorWithHint(dispatch.getLoc(), "no library provider computes this: " + Twine(why),
                               "this mpc and its libraries do not fit: build or install them again");
    if (bytes)
      dispatch.setScratchBytes(bytes);
    return success();
  }

  mpc_library_entry_fn builtIn, plugin = nullptr;
};
} // namespace

std::unique_ptr<Pass> mpc::createLibraryScratchPass(LibraryScratchPassOptions options, mpc_library_entry_fn builtIn) {
  return std::make_unique<LibraryScratch>(std::move(options), builtIn);
}
