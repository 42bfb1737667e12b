//===- Space.h - the iteration space of a loop dispatch ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_SPACE_H
#define MPC_KERNEL_ANALYSIS_SPACE_H
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Interfaces/Indexing.h"
#include "dialects/Kernel/Analysis/Index.h"
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// Neighbouring dimensions that are all kept or all reduced, as one number of iterations. Dimensions of one
/// index do not count.
struct Run {
  int64_t extent;
  bool reduced;
  bool operator==(const Run &other) const { return extent == other.extent && reduced == other.reduced; }
};

/// The points that the kernel of a loop dispatch walks over, in row-major order. Without a reduction they are the
/// elements of the smallest result, or those of a part where the results are several concatenations of such parts; a
/// result with more elements than points is a concatenation that is stored in parts (StoredParts). With reductions the
/// points are the elements of their operands, and those that agree in the kept runs are one *row*.
struct Space {
  llvm::SmallVector<Run> runs;

  int64_t points() const;
  int64_t rows() const;
  bool hasReductions() const {
    return llvm::any_of(runs, [](const Run &run) { return run.reduced; });
  }

  /// Returns the runs of a reduction's operand.
  static llvm::SmallVector<Run> runsOf(ReductionOpInterface reduction);

  /// Returns the space of a dispatch in which all reductions have the same runs, and each result that is not empty
  /// has an element for each point or for each row, or without reductions is stored in parts; else nullopt. A dispatch
  /// that scatters has no space. Empty results need no point.
  static std::optional<Space> of(DispatchOp dispatch);
};

/// Returns how many elements a tensor has.
int64_t countOf(mlir::Value tensor);

/// Returns whether the op combines several elements into one. (A reduction along dimensions of one index is a copy.)
bool combinesElements(mlir::Operation *op);

/// The parts of a concatenation that loops store one by one: at each point, an element of every operand, each in its
/// place. So what computes the operands is computed once for each point, where a walk over the concatenation would
/// compute it in another loop for each operand.
struct StoredParts {
  mlir::ValueRange parts; ///< the operands of the concatenation, of one shape; none where a result is not stored so
  int64_t axis = 0;       ///< along which they are joined

  /// `result` is stored in parts where it joins several tensors that have an element for each of `points`.
  StoredParts(mlir::Value result, int64_t points);

  explicit operator bool() const { return !parts.empty(); }
  /// Returns where the result has the element that its i-th part has at `index`.
  IndexVector place(size_t i, IndexVector index) const;

  /// Returns whether a dispatch stores any of its results in parts.
  static bool in(DispatchOp dispatch);
};

} // namespace mpc::kernel
#endif
