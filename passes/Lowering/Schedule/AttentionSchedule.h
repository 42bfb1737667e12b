//===- AttentionSchedule.h - the schedules of an attention --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_SCHEDULE_ATTENTIONSCHEDULE_H
#define MPC_LOWERING_SCHEDULE_ATTENTIONSCHEDULE_H
#include "dialects/Kernel/IR/Kernel.h"
#include "llvm/Support/MathExtras.h"

namespace mpc::attention {

/// The schedules of an attention, or of its gradient, that a GPU has a kernel for: m rows for a block, n columns at a
/// time, and the head size as k. (The rows of dk and dv are keys, and their columns queries.) The best one comes first.
llvm::SmallVector<kernel::Contraction> schedulesFor(mlir::Operation *op, const GpuArch &arch);
/// The schedule that a dispatch carries. Fails with a diagnostic where it carries none, or another one.
mlir::FailureOr<kernel::Contraction> scheduleOf(kernel::DispatchOp dispatch, const GpuArch &arch);
/// Gives a dispatch the best schedule unless it carries one. Fails with a diagnostic where the one that it carries is
/// none of the attention's.
mlir::LogicalResult assignSchedule(kernel::DispatchOp dispatch, const GpuArch &arch);

/// The bytes of some rows of a head in shared memory: lines of 64 elements (passes/Lowering/AttentionToGpu/HeadTile.h).
inline int64_t tileBytes(int64_t rows, int64_t width) { return rows * int64_t(llvm::alignTo(width, 64)) * 2; }
/// The bytes of the statistics of a tile of queries: largest, log_sum and delta of each in f32.
inline int64_t statisticBytes(int64_t queries) { return int64_t(llvm::alignTo(3 * 4 * queries, 128)); }
/// The shared memory of a block, in bytes: its rows and two stages.
int64_t sharedBytes(mlir::Operation *op, int64_t rows, int64_t columns);

/// Returns how many blocks of `rows` rows of the kernels that walk over keys should stand on a multiprocessor
/// together; it bounds their registers.
int64_t residentBlocks(mlir::Operation *op, int64_t rows);

/// The expected seconds of each launch of a dispatch besides what it moves: its products, by the tensor cores, and one
/// exponential for each score.
llvm::SmallVector<double> expectedSeconds(kernel::DispatchOp dispatch, const GpuArch &arch);

} // namespace mpc::attention
#endif
