// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/EmitKernels/Passes.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include "passes/Lowering/EmitKernels/KernelEmitter.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_EMITKERNELSPASS
#include "passes/Lowering/EmitKernels/Passes.h.inc"
} // namespace mpc

namespace {
struct EmitKernels : mpc::impl::EmitKernelsPassBase<EmitKernels> {
  using EmitKernelsPassBase::EmitKernelsPassBase;
  void runOnOperation() override {
    // Those of an earlier run are perhaps of other bodies.
    for (ModuleOp earlier : kernel::kernelModules(getOperation()))
      earlier.erase();
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    KernelEmitter emitter(getOperation(), std::max(1u, unsigned(units)));
    // A batch is one launch, so its members are passed over.
    WalkResult result = getOperation().walk<WalkOrder::PreOrder>([&](kernel::DispatchOp dispatch) {
      dispatch.removeLaunchesAttr();
      if (dispatch.computesNothing())
        return WalkResult::skip();
      if (!gpu && dispatch.isContraction()) {
        FailureOr<kernel::HostCall> call = kernel::HostCall::of(dispatch);
        if (failed(call))
          return WalkResult::interrupt();
        if (!call->hasLoops()) // the library computes everything
          return WalkResult::skip();
      }
      FailureOr<ArrayAttr> launches = emitter.add(dispatch);
      if (failed(launches))
        return WalkResult::interrupt();
      dispatch.setLaunchesAttr(*launches);
      numLaunches += launches->size();
      return WalkResult::skip();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    numKernels += emitter.size();
  }
};
} // namespace
