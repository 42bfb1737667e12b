//===- PlanLoops.cpp - mpc-plan-loops -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/LoopsBehind.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "passes/Lowering/LoopPlan/Passes.h"
#include "passes/Lowering/LoopPlan/Plan.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_PLANLOOPSPASS
#include "passes/Lowering/LoopPlan/Passes.h.inc"
} // namespace mpc

/// Chooses the loops of a dispatch; null where it has none.
static FailureOr<kernel::LoopsAttr> loopsOf(kernel::DispatchOp dispatch, const GpuArch *gpu) {
  if (dispatch.isBatch() || dispatch.isAttention())
    return kernel::LoopsAttr();
  if (!dispatch.isContraction())
    return chooseLoops(dispatch, gpu);
  if (gpu)
    return kernel::LoopsAttr();
  FailureOr<kernel::HostCall> call = kernel::HostCall::of(dispatch);
  if (failed(call))
    return failure();
  if (!call->hasLoops())
    return kernel::LoopsAttr();
  FailureOr<kernel::LoopsBehind> behind = kernel::LoopsBehind::of(*call, dispatch);
  if (failed(behind))
    return failure();
  return chooseLoops(behind->dispatch, gpu);
}

namespace {
struct PlanLoops : mpc::impl::PlanLoopsPassBase<PlanLoops> {
  using PlanLoopsPassBase::PlanLoopsPassBase;
  // Which ops can be in a loop is what the models of their elements say, so a context without them gets them.
  void getDependentDialects(DialectRegistry &registry) const override {
    PlanLoopsPassBase::getDependentDialects(registry);
    registerElementalModels(registry);
  }
  void runOnOperation() override {
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    WalkResult walked = getOperation().walk([&](kernel::DispatchOp dispatch) {
      dispatch.removeLoopsAttr();
      FailureOr<kernel::LoopsAttr> loops = loopsOf(dispatch, gpu);
      if (failed(loops))
        return WalkResult::interrupt();
      if (*loops) {
        dispatch.setLoopsAttr(*loops);
        ++numPlanned;
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
