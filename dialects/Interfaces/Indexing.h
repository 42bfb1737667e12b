//===- Indexing.h - how results are indexed by operands ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_INTERFACES_INDEXING_H
#define MPC_INTERFACES_INDEXING_H
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace mpc {

/// The loop kind says which elements of its operands an op reads for one element of its result when the op is
/// lowered to a loop nest.
enum class LoopKind {
  /// The op reads no element of a tensor: constants, indices.
  Generator,
  /// The result has the same elements in the same order under another shape.
  View,
  /// An element of the result is a function of one element of each operand, which broadcast as numpy does.
  Elementwise,
  /// The result has the same elements, repeated along some dimensions as numpy does.
  Broadcast,
  /// The result has the same elements, with its dimensions in another order, so neighbours are no neighbours any more.
  Permutation,
  /// An element of the result is an element of an operand or a fixed number, in a way that no other kind says: slices,
  /// padding, concatenation, gathers.
  Movement,
  /// An element of the result is a function of some elements of the operands, and is computed wherever it is used:
  /// pooling, resizing, argmax.
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

/// The result of an op with this trait lies in memory where its first operand does; the op is no launch of its
/// own (dialects/Graph/IR/Storage.h).
template <typename ConcreteType>
class StorageView : public mlir::OpTrait::TraitBase<ConcreteType, StorageView> {};

/// An op with this trait is no launch: its result lies in memory before an entry runs and after it, as variables and
/// constants do (dialects/Graph/IR/Storage.h).
template <typename ConcreteType>
class PermanentStorage : public mlir::OpTrait::TraitBase<ConcreteType, PermanentStorage> {};

/// Returns whether each element that such an op gives is an element of an operand, or a fixed number.
inline bool moves(LoopKind kind) {
  return kind == LoopKind::View || kind == LoopKind::Broadcast || kind == LoopKind::Permutation ||
         kind == LoopKind::Movement;
}

/// How a reduction combines two elements. All of these are associative and commutative in the reals.
enum class Combiner {
  Add,
  Multiply,
  Max,
  Min,
  /// Whether one of them is true.
  Or,
  /// The square root of the sum of their squares.
  Hypot,
};
/// Returns the number that combined with any element gives that element: for maxima and minima it is an infinity, or a
/// bound of the integers of the type.
mlir::TypedAttr identityOf(Combiner combiner, mlir::Type element);

/// Copies an op over other operands. The results that have as many dimensions as `permutation` are permuted: dimension
/// i is dimension permutation[i] of the old result.
mlir::Operation *rebuildPermuted(mlir::OpBuilder &builder, mlir::Operation *op, llvm::ArrayRef<int64_t> permutation,
                                 mlir::ValueRange operands);

/// Returns the dimension of `result` that `dim` of `operand` becomes under numpy broadcasting,
/// which aligns the last dimensions; nullopt if the operand is broadcast along it.
std::optional<int64_t> alignedDim(mlir::OpOperand &operand, mlir::OpResult result, int64_t dim);

/// The elements of an operand along one of its dimensions that an op reads for one index of its result: those of the
/// `span` indices from stride * (index along `dim`) + offset on that the operand has. Where the operand does not have
/// all of them, the op reads fewer, or something else.
struct ReadRange {
  int64_t dim; ///< a dimension of the result
  int64_t stride = 1, offset = 0, span = 1;
};

} // namespace mpc

#include "dialects/Interfaces/Indexing.h.inc"

namespace mpc {
/// Returns the op's loop kind, or nullopt if the op does not implement IndexingOpInterface.
inline std::optional<LoopKind> loopKindOf(mlir::Operation *op) {
  auto indexed = llvm::dyn_cast<IndexingOpInterface>(op);
  return indexed ? std::optional(indexed.getLoopKind()) : std::nullopt;
}
inline bool isOfKind(mlir::Operation *op, LoopKind kind) { return loopKindOf(op) == kind; }
/// Returns whether the op's result is its first operand in another shape, in another order or repeated: it has the same
/// elements and no others.
inline bool rearranges(mlir::Operation *op) {
  return isOfKind(op, LoopKind::View) || isOfKind(op, LoopKind::Permutation) || isOfKind(op, LoopKind::Broadcast);
}
/// Returns whether the op draws random numbers (IndexingOpInterface::drawsNumbers).
inline bool drawsNumbers(mlir::Operation *op) {
  auto indexed = llvm::dyn_cast<IndexingOpInterface>(op);
  return indexed && indexed.drawsNumbers();
}

/// Returns whether the element of `result` with number l, in row-major order, depends on no element of `operand` but
/// that with number l. The owner implements IndexingOpInterface.
bool keepsNumbers(mlir::OpOperand &operand, mlir::OpResult result);
} // namespace mpc
#endif
