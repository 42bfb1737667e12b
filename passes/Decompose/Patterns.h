//===- Patterns.h - a pattern for each composite op, by family -------------------===//
#ifndef MPC_DECOMPOSE_PATTERNS_H
#define MPC_DECOMPOSE_PATTERNS_H
#include "dialects/Graph/IR/Shapes.h"
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
/// Splits a reduction in two if it has too few results to keep the target busy; returns false for any other
/// op.
bool splitReduction(mlir::Operation *op, const SplitSizes &sizes, mlir::OpBuilder &b);

/// Writes arithmetic on values of one element type; scalars take their type from it.
struct Arithmetic {
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type element;

  mlir::Value constant(double value) const { return graph::scalar(b, loc, element, value); }
  mlir::Value add(mlir::Value x, mlir::Value y) const { return graph::AddOp::create(b, loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) const { return graph::SubOp::create(b, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) const { return graph::MulOp::create(b, loc, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) const { return graph::DivOp::create(b, loc, x, y); }
  mlir::Value exp(mlir::Value x) const { return graph::ExpOp::create(b, loc, x.getType(), x); }
  mlir::Value log(mlir::Value x) const { return graph::LogOp::create(b, loc, x.getType(), x); }
  mlir::Value rsqrt(mlir::Value x) const { return graph::RsqrtOp::create(b, loc, x.getType(), x); }
  mlir::Value neg(mlir::Value x) const { return graph::NegOp::create(b, loc, x.getType(), x); }
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims = false) const {
    return graph::ReduceSumOp::create(b, loc, x, axes, keepdims);
  }
  mlir::Value max(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims = false) const {
    return graph::ReduceMaxOp::create(b, loc, x, axes, keepdims);
  }
  /// x, converted to this element type.
  mlir::Value widen(mlir::Value x) const { return graph::castTo(b, loc, x, element); }
};

} // namespace mpc
#endif
