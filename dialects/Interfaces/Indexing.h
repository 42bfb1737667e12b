//===- Indexing.h - how results are indexed by operands ---------------------===//
#ifndef MPC_INTERFACES_INDEXING_H
#define MPC_INTERFACES_INDEXING_H
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace mpc {

/// The loop kind says which elements of its operands an op reads for one element of its result when the op is lowered to a loop nest.
enum class LoopKind {
  /// The op reads no element of a tensor: constants, indices.
  Generator,
  /// The result has the same elements in the same order under another shape.
  View,
  /// An element of the result is a function of one element of each operand, which broadcast as numpy does.
  Elementwise,
  /// An element of the result is an element of an operand or a fixed number: transposes, slices, padding, concatenation, gathers.
  Movement,
  /// An element of the result is a function of some elements of the operands, and is computed wherever it is used: pooling, resizing, argmax.
  Window,
  /// The op combines one operand along some dimensions (ReductionOpInterface).
  Reduction,
  /// The op adds elements of an operand to those elements of the result that indices name.
  Scatter,
  /// The op sums products and has a kernel of its own: matrix products and convolutions.
  Contraction,
  /// The op is replaced by ops of the other kinds before there are loops (mpc-decompose).
  Composite,
  /// The op repeats a body, whose ops are of the other kinds and have launches of their own.
  Repeat,
};

/// The result of an op with this trait lies in memory where its first operand does; the op is no launch of its own (dialects/Graph/IR/Storage.h).
template <typename ConcreteType>
class StorageView : public mlir::OpTrait::TraitBase<ConcreteType, StorageView> {};

/// Returns the dimension of `result` that `dim` of `operand` becomes under numpy broadcasting,
/// which aligns the last dimensions; nullopt if the operand is broadcast along it.
std::optional<int64_t> alignedDim(mlir::OpOperand &operand, mlir::OpResult result, int64_t dim);

} // namespace mpc

#include "dialects/Interfaces/Indexing.h.inc"

namespace mpc {
/// Returns the op's loop kind, or nullopt if the op does not implement IndexingOpInterface.
inline std::optional<LoopKind> loopKindOf(mlir::Operation *op) {
  auto indexed = llvm::dyn_cast<IndexingOpInterface>(op);
  return indexed ? std::optional(indexed.getLoopKind()) : std::nullopt;
}
inline bool isOfKind(mlir::Operation *op, LoopKind kind) { return loopKindOf(op) == kind; }

/// Returns whether the element of `result` with number l, in row-major order, depends on no element of `operand` but that with number l. The owner implements IndexingOpInterface.
bool keepsNumbers(mlir::OpOperand &operand, mlir::OpResult result);
} // namespace mpc
#endif
