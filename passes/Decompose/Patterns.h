//===- Patterns.h - a pattern for each composite op, by family -------------------===//
#ifndef MPC_DECOMPOSE_PATTERNS_H
#define MPC_DECOMPOSE_PATTERNS_H
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include "mlir/IR/PatternMatch.h"

namespace mpc {

void populateSoftmaxPatterns(mlir::RewritePatternSet &patterns);
void populateNormalizationPatterns(mlir::RewritePatternSet &patterns);
void populateEmptyTensorPatterns(mlir::RewritePatternSet &patterns);
/// Pads the slices of scans to the alignment of tensors.
void populateScanPatterns(mlir::RewritePatternSet &patterns);

/// The numbers that decide when a reduction has too few results to keep a target busy, and into how many
/// pieces it is then split.
struct SplitSizes {
  int64_t wantedPieces;  ///< the number that keeps a large machine busy
  int64_t enoughPieces;  ///< the number that is enough where it spares a reshape
  int64_t mostPieces;    ///< more than this would be too many to sum up afterwards
  int64_t leastElements; ///< for an operand with fewer, one more launch costs more than it gains
  int64_t leastPiece;    ///< the fewest elements of a piece
  int64_t columns;       ///< the columns that one slice or block of a column reduction takes
};
/// The sizes for a GPU, or for the host where it is null.
SplitSizes splitSizesFor(const GpuArch *gpu);
/// Splits a reduction in two if it has too few results to keep the target busy; returns false for any other op.
bool splitReduction(mlir::Operation *op, const SplitSizes &sizes, mlir::OpBuilder &b);

} // namespace mpc
#endif
