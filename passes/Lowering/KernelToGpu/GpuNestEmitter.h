//===- GpuNestEmitter.h - the parts of thread mappings ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_KERNELTOGPU_GPUNESTEMITTER_H
#define MPC_LOWERING_KERNELTOGPU_GPUNESTEMITTER_H
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "passes/Lowering/KernelToGpu/ThreadReducer.h"
#include "passes/Lowering/KernelToGpu/Threads.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"

namespace mpc {

/// Emits the code of one thread for a walk. GpuNest.cpp describes and emits the walks without reductions,
/// GpuReductions.cpp the others.
class GpuNestEmitter : NestSpace {
public:
  /// The plan's innermost loop counts pieces, if it has neighbours (splitNeighbours).
  GpuNestEmitter(const Plan &plan, kernel::DispatchOp dispatch, llvm::ArrayRef<Buffer> results, ElementEmitter &e)
      : NestSpace(plan, dispatch, results, e), dispatch(dispatch), n(plan.vector),
        bodyOps(llvm::range_size(dispatch.getBody().front())) {}

  Blocks pointwise();
  Blocks tiles();
  Blocks rows();
  Blocks columns();

private:
  using Stage = llvm::ArrayRef<mlir::Operation *>;
  /// Where a thread is among those that reduce the same columns.
  struct ColumnPlace {
    mlir::Value thread, group; ///< the thread's number in its block, and its group's
    mlir::Value firstPiece;    ///< of the block
    mlir::Value inside;        ///< whether the thread has a column; null where all have one
  };

  /// Binds the variables, whose row-major number is `linear` (i32, below 2^31), but for `unbound`, whose number it
  /// returns; null where there is none.
  mlir::Value bindLinear(llvm::ArrayRef<LoopVar> vars, mlir::Value linear, const LoopVar *unbound = nullptr);
  /// Replaces a symbol in the current point by another index.
  void move(SymbolId symbol, const Index &to);
  /// The elements have what the results store at a point.
  using Elements = llvm::SmallVector<Element>;
  /// Stores what was computed at several points.
  void storeAll(llvm::ArrayRef<Elements> points);
  /// Calls body(i) for the n neighbours of the current piece; `space` and `keptSpace` are then those of the i-th.
  void forNeighbours(llvm::function_ref<void(int64_t)> body);
  /// Stores the results at the n neighbours. All are computed before the first is stored, since the back end
  /// cannot move a load up over a store.
  void storeNeighbours(llvm::ArrayRef<unsigned> positions, bool kept);
  /// Calls body() at each iteration of tile number `number` of a loop, which are neighbours. They differ by constants,
  /// so the emitter and LLVM find what they share. The loop counts its tiles.
  void forStrip(const LoopVar &strip, mlir::Value number, llvm::function_ref<void()> body);
  /// Does what storeNeighbours does at all iterations of tile number `number` of a loop, which are neighbours.
  void storeStrip(const LoopVar &strip, mlir::Value number);

  /// Makes the totals the results of the stage's reductions at the current kept point.
  void defineTotals(Stage stage, llvm::ArrayRef<mlir::Value> totals);
  /// Calls body(carried) at every piece of the reduced space whose number is first + i*step. Short bodies of several
  /// pieces stand side by side.
  Values walk(mlir::Value first, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(mlir::ValueRange)> body);
  /// Does the same without a loop. `inside` says whether the thread has this piece, and is null where every thread
  /// has; a thread without one is at the last piece.
  void unrolled(mlir::Value first, int64_t step, llvm::function_ref<void(mlir::Value inside)> body);

  /// Does what NestSpace::stageStep does; the step of a sum of products is one fused multiply-add.
  Values stageStep(Stage stage, llvm::ArrayRef<mlir::Value> accumulators);
  /// Adds up the thread's part of a row, whose first piece is `lane`.
  Values sumRow(Stage stage, mlir::Value lane);
  void storeRow(mlir::Value lane);

  /// Finds the thread's columns and binds them.
  ColumnPlace placeInColumns();
  /// Adds up the thread's part of its columns, and combines it with those of the other groups.
  ThreadReducer reduceColumns(Stage stage, const ColumnPlace &place);
  /// Stores what each column has once; a thread takes one column, not n.
  void storeSingleColumns(Stage stage, ThreadReducer &reducer, const ColumnPlace &place);

  kernel::DispatchOp dispatch;
  const int64_t n;       ///< the number of neighbours that a thread computes
  const int64_t bodyOps; ///< the ops of the dispatch
};

} // namespace mpc
#endif
