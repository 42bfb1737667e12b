//===- ThreadReducer.h - reductions across the threads of a block ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_KERNELTOGPU_THREADREDUCER_H
#define MPC_LOWERING_KERNELTOGPU_THREADREDUCER_H
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"

namespace mpc {

/// Combines the threads' accumulators of the reductions of one stage. Each thread belongs to a column, its
/// number modulo `columns` (a power of two up to 32), and has `n` accumulators for every reduction. The
/// accumulators of threads in the same column are combined, by shuffles within a warp and through shared
/// memory between warps. The order of the combinations follows from the shapes alone, so that results do not
/// change from run to run.
class ThreadReducer {
public:
  using Values = ScalarBuilder::Values;

  /// `accumulators[i]` has one value for each reduction of the stage. `threads` are the neighbours that combine theirs:
  /// those of the block, or a warp or a power of two of its threads. All of them must get here, with the rest of their
  /// warps.
  ThreadReducer(ElementEmitter &e, llvm::ArrayRef<mlir::Operation *> stage, llvm::ArrayRef<Values> accumulators,
                mlir::Value thread, int64_t threads, int64_t columns);

  /// The totals of this thread's column, of the i-th accumulators. Any thread may call it.
  Values totals(int64_t i);
  /// Whether the totals lie in shared memory (more than one warp), where any thread can read those of any
  /// column and of its i-th accumulators.
  bool inMemory() const { return warps > 1; }
  Values totals(const Index &ofColumn, const Index &i);

private:
  mlir::Value overWarp(mlir::Operation *reduction, mlir::Value accumulator);
  mlir::Value exchange(mlir::Value v, int64_t offset);

  ElementEmitter &e;
  llvm::ArrayRef<mlir::Operation *> stage;
  int64_t inWarp; ///< the threads of a warp that combine theirs
  int64_t warps, columns, n;
  llvm::SmallVector<Values> ofWarp;  ///< for each accumulator and reduction
  llvm::SmallVector<Buffer> partial; ///< for each reduction: [warp, column, n]; empty when there is one warp
  mlir::Value column;
};

} // namespace mpc
#endif
