//===- Indexing.h - how results are indexed by operands ---------------------===//
#ifndef MPC_INTERFACES_INDEXING_H
#define MPC_INTERFACES_INDEXING_H
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace mpc {

/// A loop kind says what an op is in a nest of loops.
enum class LoopKind {
  /// No element of a tensor is read: constants, indices.
  Generator,
  /// The same elements in the same order under another shape.
  View,
  /// An element of the result is a function of one element of each operand, which broadcast as numpy does.
  Elementwise,
  /// An element of the result is one of an operand's, or one number: transposes, slices, padding, concatenation, gathers.
  Movement,
  /// An element of the result is a function of some elements of the operands, and is computed wherever it is used: pooling, resizing, argmax.
  Window,
  /// One operand is combined along some dimensions (ReductionOpInterface).
  Reduction,
  /// Elements of an operand are added to those of the result that indices name.
  Scatter,
  /// Sums of products, with a kernel of its own: matrix products and convolutions.
  Contraction,
  /// Becomes ops of the other kinds before there are loops (mpc-decompose).
  Composite,
};

/// numpy broadcasting aligns the last dimensions: the dimension of `result` that `dim` of `operand` becomes, unless it is spread there.
std::optional<int64_t> alignedDim(mlir::OpOperand &operand, mlir::OpResult result, int64_t dim);

} // namespace mpc

#include "dialects/Interfaces/Indexing.h.inc"

namespace mpc {
/// The kind of an op that states one.
inline std::optional<LoopKind> loopKindOf(mlir::Operation *op) {
  auto indexed = llvm::dyn_cast<IndexingOpInterface>(op);
  return indexed ? std::optional(indexed.getLoopKind()) : std::nullopt;
}
inline bool isOfKind(mlir::Operation *op, LoopKind kind) { return loopKindOf(op) == kind; }
} // namespace mpc
#endif
