//===- ChooseLoops.h - the steps of choosing loops --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_LOOPPLAN_CHOOSELOOPS_H
#define MPC_LOWERING_LOOPPLAN_CHOOSELOOPS_H
#include "passes/Lowering/LoopPlan/Plan.h"

namespace mpc {

/// Divides the loops of a plan among the threads of the host. `period` is that of the dispatch (kernel::periodOf).
void divideForHost(Plan &plan, int64_t period);

/// Divides the loops of a plan among the threads of a GPU.
void divideForGpu(Plan &plan, kernel::DispatchOp dispatch, const GpuArch &arch);

} // namespace mpc
#endif
