//===- Plan.h - the iteration space of a dispatch and how to walk it -----------===//
#ifndef MPC_LOWERING_LOOPPLAN_PLAN_H
#define MPC_LOWERING_LOOPPLAN_PLAN_H
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"

namespace mpc {

/// A dimension of the iteration space. Factors are as fine as any shape of the dispatch that has the space's
/// row-major order cuts it, so that reshapes need no division. In emission, factor i is symbol i.
struct Factor {
  int64_t extent;
  bool reduced;
};

/// Adjacent factors that one loop walks.
struct LoopVar {
  llvm::SmallVector<SymbolId, 2> factors;
  int64_t extent = 1;
};

enum class Walk {
  /// For each kept point, loops over the reduced dimensions with accumulators in registers.
  Rows,
  /// For each block of the last kept dimension, loops over the reduced dimensions with the block innermost; used
  /// where memory is contiguous along the kept dimension ([N,H,W,C] -> [C]).
  Columns
};

struct Plan {
  kernel::Form form = kernel::Form::Pointwise; ///< that of the dispatch
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<LoopVar> kept, reduced;
  Walk walk = Walk::Rows;
  /// The reductions that the nest computes, stage by stage; those of one stage do not depend on each other.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> stages;
  llvm::SmallVector<unsigned> fullResults, rowResults; ///< positions in the dispatch's results
  /// Pointwise: the number of neighbours that are worth computing together: 4 for random ops, whose numbers
  /// come in fours; the stride for gradients of pooling, whose windows repeat with it.
  int64_t unroll = 1;
  /// Pointwise: the position in `kept` of a variable along which an operand is contiguous while the result is
  /// not (a transpose). This variable and the innermost one are walked in tiles, so that cache lines of both
  /// tensors are used whole.
  int tiled = -1;
  /// Pointwise: ascending values of the innermost variable at which its loop is best cut, since each part
  /// then reads another operand of a concatenation. A single loop would read every operand for every element.
  llvm::SmallVector<int64_t> cuts;

  /// Whether the code follows the space. Scatters and transposed copies have loops of their own.
  bool walksSpace() const { return form != kernel::Form::Scatter && form != kernel::Form::TransposedCopy; }
  /// The number of neighbours that one iteration computes: `unroll` where the innermost loop has exactly that
  /// many iterations, else 1.
  int64_t neighbours() const;
  int64_t keptCount() const;
  int64_t reducedCount() const;
  /// Makes each factor a loop of its own. The rehearsal uses these loops, before it is known which can be merged.
  void resetLoops();
  /// Merges adjacent factors along which every index form advances as one row-major number.
  void mergeLoops(llvm::ArrayRef<Index> forms);
};

/// Finds the factors of the space, the stages and the results of a loop dispatch. Fails with a located error when an op
/// cannot be in one, or where the dispatch has no space.
mlir::FailureOr<Plan> planDispatch(kernel::DispatchOp dispatch);

/// Does what planDispatch does and adds what the rehearsal (Rehearsal.cpp) tells: merged loops, rows or columns, tiles,
/// cuts. The plan is the same for every target.
mlir::FailureOr<Plan> planLoops(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
