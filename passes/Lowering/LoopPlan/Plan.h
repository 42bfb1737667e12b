//===- Plan.h - the iteration space of a dispatch and how to walk it -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_LOOPPLAN_PLAN_H
#define MPC_LOWERING_LOOPPLAN_PLAN_H
#include "dialects/Kernel/Analysis/Dims.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"

namespace mpc {

/// A loop over one dimension of the space, or over several neighbouring ones. In emission, dimension i is symbol i.
struct LoopVar {
  llvm::SmallVector<SymbolId, 2> factors;
  int64_t extent = 1;
  int64_t tile = 0; ///< the iterations of a tile; 0 where the loop has no tiles

  /// The iterations that are walked together: those of a tile, or all of them.
  int64_t block() const { return tile ? tile : extent; }
  int64_t blocks() const { return (extent + block() - 1) / block(); }
};

/// The number of iterations of loops inside of each other.
int64_t iterations(llvm::ArrayRef<LoopVar> loops);

/// What a dispatch computes, from its body, and the loops that compute it, from `#kernel.loops` (whose fields
/// have these names).
struct Plan {
  kernel::Form form = kernel::Form::Pointwise; ///< that of the dispatch
  llvm::SmallVector<kernel::Dim> factors;      ///< the dimensions of the space
  /// The reductions that the nest computes, stage by stage; those of one stage do not depend on each other.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> stages;
  llvm::SmallVector<unsigned> fullResults, rowResults; ///< positions in the dispatch's results

  kernel::Walk walk = kernel::Walk::Points;
  llvm::SmallVector<LoopVar> kept,
      reduced; ///< outermost first; with Walk::Columns the last kept loop is inside of the reduced ones
  int64_t parallel = 0;
  int64_t vector = 1;
  int64_t threadRows = 0, threadColumns = 0; ///< `threads`; 0 on the host
  bool unroll = false;
  llvm::SmallVector<int64_t> cuts;

  /// Whether the code follows the space. A scatter has loops of its own.
  bool walksSpace() const { return form != kernel::Form::Scatter; }
  bool reduces() const { return form == kernel::Form::Reduction || form == kernel::Form::Row; }
  int64_t threads() const { return threadRows * threadColumns; }
  int64_t keptCount() const;
  int64_t reducedCount() const;
  /// Returns the innermost loop if its neighbouring iterations read and write neighbouring elements
  /// (kernel::hasNeighbours), for GPUs; else null.
  LoopVar *neighbourLoop();
};

/// Returns how many products an element takes if the dispatch computes a depthwise convolution, or the gradient of
/// one's input, whose windows overlap along the loop: it walks one spatial dimension. `dims` are those of the space.
/// Returns 0 otherwise, and where the products are computed in a loop. On GPUs the iterations of a strip are neighbours
/// where windows overlap, and otherwise lie as far apart as there are strips.
int64_t overlappingTaps(kernel::DispatchOp dispatch, llvm::ArrayRef<kernel::Dim> dims, const LoopVar &loop);

/// Finds the dimensions of the space, the stages and the results of a loop dispatch. The loops walk one dimension each.
/// Fails with a located error when an op cannot be in a loop dispatch, or where the dispatch has no space.
mlir::FailureOr<Plan> planDispatch(kernel::DispatchOp dispatch);

/// Does the same, and takes the loops from the dispatch's `loops`, which the verifier has found to fit
/// (dialects/Kernel/Analysis/LoopsFit.h). Fails with a located error where a dispatch that has a space has none.
mlir::FailureOr<Plan> readPlan(kernel::DispatchOp dispatch);

/// Chooses the loops of a loop dispatch for a target (null for the host): `#kernel.loops`, or null where the dispatch
/// is a scatter or computes nothing. Fails where planDispatch does, where the form is not one of the target, and where
/// the threads of a GPU cannot count the points (kernel::verifyCountable).
mlir::FailureOr<kernel::LoopsAttr> chooseLoops(kernel::DispatchOp dispatch, const GpuArch *gpu);

} // namespace mpc
#endif
