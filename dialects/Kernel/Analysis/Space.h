//===- Space.h - the iteration space of a loop dispatch ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_SPACE_H
#define MPC_KERNEL_ANALYSIS_SPACE_H
#include "dialects/Interfaces/Indexing.h"
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
/// elements of a result. With reductions they are the elements of their operands, and the points that agree in the kept
/// runs are one *row*.
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
  /// has an element for each point or for each row; else nullopt. A dispatch that scatters has no space. Empty
  /// results need no point.
  static std::optional<Space> of(DispatchOp dispatch);
};

/// Returns how many elements a tensor has.
int64_t countOf(mlir::Value tensor);

/// Returns whether the op combines several elements into one. (A reduction along dimensions of one index is a copy.)
bool combinesElements(mlir::Operation *op);

} // namespace mpc::kernel
#endif
