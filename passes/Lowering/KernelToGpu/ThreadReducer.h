//===- ThreadReducer.h - reductions across the threads of a block ---------------===//
#ifndef MPC_LOWERING_KERNELTOGPU_THREADREDUCER_H
#define MPC_LOWERING_KERNELTOGPU_THREADREDUCER_H
#include "passes/Lowering/Elemental/ElementEmitter.h"

namespace mpc {

inline constexpr int64_t warpThreads = 32;

/// Brings the threads' accumulators of the reductions of one stage together. Each thread has a column, its
/// number modulo `columns` (a power of two up to 32), and `n` accumulators of every reduction; those of equal
/// columns are combined, by shuffles within a warp and through shared memory between warps. The order of the
/// combinations follows from the shapes alone, so that results do not change from run to run.
class ThreadReducer {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// `accumulators[i]`: one per reduction of the stage. All threads of the block are here when it has more
  /// than one warp.
  ThreadReducer(ElementEmitter &e, llvm::ArrayRef<mlir::Operation *> stage,
                llvm::ArrayRef<Values> accumulators, mlir::Value thread, int64_t threads, int64_t columns);

  /// The totals of this thread's column and its i-th accumulators. Any thread may ask.
  Values totals(int64_t i);
  /// Whether the totals lie in shared memory (more than one warp), where any thread finds those of any column
  /// and its i-th accumulators.
  bool inMemory() const { return warps > 1; }
  Values totals(const Index &ofColumn, const Index &i);

private:
  mlir::Value combine(mlir::Operation *reduction, mlir::Value a, mlir::Value b);
  mlir::Value overWarp(mlir::Operation *reduction, mlir::Value accumulator);
  mlir::Value exchange(mlir::Value v, int64_t offset);

  ElementEmitter &e;
  llvm::ArrayRef<mlir::Operation *> stage;
  int64_t warps, columns, n;
  llvm::SmallVector<Values> ofWarp;  ///< by accumulator and reduction
  llvm::SmallVector<Buffer> partial; ///< by reduction: [warp, column, n]; none when there is one warp
  mlir::Value column;
};

} // namespace mpc
#endif
