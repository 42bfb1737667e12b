//===- Plan.h - the iteration space of a dispatch and how to walk it -----------===//
#ifndef MPC_LOWERING_LOOPPLAN_PLAN_H
#define MPC_LOWERING_LOOPPLAN_PLAN_H
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "passes/Lowering/LoopPlan/LoopForm.h"

namespace mpc {

/// A dimension of the space, as fine as any shape of the dispatch that shares the space's row-major order
/// cuts it, so that reshapes need no division. In emission, factor i is symbol i.
struct Factor {
  int64_t extent;
  bool reduced;
};

/// Adjacent factors that one loop walks.
struct LoopVar {
  llvm::SmallVector<SymbolId, 2> factors;
  int64_t extent = 1;
};

enum class Schedule {
  Rows,   ///< per kept point, loops over the reduced dimensions with accumulators in registers
  Columns ///< per block of the last kept dimension, loops over the reduced ones with the block innermost:
          ///< when memory is contiguous along that dimension ([N,H,W,C] -> [C])
};

struct Plan {
  LoopForm form = LoopForm::Pointwise;
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<LoopVar> kept, reduced;
  Schedule schedule = Schedule::Rows;
  /// Reductions that the nest computes, stage by stage; those of a stage do not depend on each other.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> stages;
  llvm::SmallVector<unsigned> fullResults, rowResults; ///< positions in the dispatch's results
  /// Reductions over another space, or results of other sizes: emitted, slowly, by recursion.
  bool irregular = false;
  /// Pointwise: neighbours that are worth computing together: 4 for random ops, whose numbers come in
  /// fours; the stride for gradients of pooling, whose windows repeat with it.
  int64_t unroll = 1;
  /// Pointwise: position in `kept` of the variable along which an operand is contiguous while the result is
  /// not (a transpose): it and the innermost one are walked in tiles, so that cache lines of both are used
  /// whole.
  int tiled = -1;
  /// Pointwise: values of the innermost variable, ascending, before which its loop is best cut in two, since each piece reads another operand
  /// of a concatenation. A loop over all would read every operand for every element.
  llvm::SmallVector<int64_t> cuts;

  /// Emitted slice by slice (emitSlices), without a space to walk.
  bool sliced() const { return form == LoopForm::Special || irregular; }
  /// Neighbours that one iteration computes: `unroll` where the innermost loop has just that many, else 1.
  int64_t neighbours() const;
  int64_t keptCount() const;
  int64_t reducedCount() const;
  /// Loops walk single factors: what the rehearsal uses, before it is known which can be merged.
  void resetLoops();
  /// Merges adjacent factors along which every index form advances as one row-major number.
  void mergeLoops(llvm::ArrayRef<Index> forms);
};

/// Finds form, space, stages and results. Fails, with a diagnostic if `diagnose`, when an op cannot be in a
/// loop dispatch.
mlir::FailureOr<Plan> planDispatch(kernel::DispatchOp dispatch, bool diagnose);

/// planDispatch, with what the rehearsal tells (Rehearsal.cpp): loops merged, rows or columns, tiles. The
/// same for every target.
mlir::FailureOr<Plan> planLoops(kernel::DispatchOp dispatch, bool diagnose);

/// planLoops, and what the same rehearsal tells about buffers.
struct PlannedLoops {
  Plan plan;
  Reuses reuses;
};
mlir::FailureOr<PlannedLoops> planLoopsAndReuses(kernel::DispatchOp dispatch, bool diagnose);

} // namespace mpc
#endif
