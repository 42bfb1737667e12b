//===- Nest.h - the loop nests of host kernels ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_KERNELTOHOST_NEST_H
#define MPC_LOWERING_KERNELTOHOST_NEST_H
#include "passes/Lowering/LoopPlan/Plan.h"

namespace mpc {

/// Emits the body of a kernel at e's insertion point, for grid positions [begin, end) (i64). `results` has a
/// buffer for each result of the dispatch. Returns the grid's length.
int64_t emitNest(const Plan &plan, kernel::DispatchOp dispatch, llvm::ArrayRef<Buffer> results, ElementEmitter &e,
                 mlir::Value begin, mlir::Value end);

} // namespace mpc
#endif
