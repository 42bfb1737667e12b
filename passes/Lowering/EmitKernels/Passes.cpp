#include "passes/Lowering/EmitKernels/Passes.h"
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
      // Many library calls have no loops behind them, and then the target has nothing to emit.
      if (dispatch.computesNothing() || (!gpu && dispatch.getLibrary() && dispatch.getNumResults() == 1))
        return WalkResult::skip();
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
