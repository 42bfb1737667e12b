//===- Order.h - the order in which a tensor's elements are stored -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value has the shape that the program gives it, and is stored in an order. A stored tensor is the program's tensor,
// reshaped so that some dimensions are split, and transposed.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_LAYOUT_ORDER_H
#define MPC_PASSES_LAYOUT_ORDER_H
#include "dialects/Graph/IR/Shapes.h"

namespace mpc::layout {

/// The bytes of a value's elements.
int64_t bytesOf(mlir::Value v);

/// A digit of an index: (index of dimension `dim` / stride) % size.
struct Piece {
  int64_t dim, stride, size;
  bool operator==(const Piece &other) const = default;
};

/// The pieces of all dimensions of a shape, the outermost first. Pieces that are neighbours in a dimension and in
/// memory are one piece; a dimension of size 1 has one piece, and no other piece has size 1. So two orders of a shape
/// are equal if and only if they store it as the same tensor.
class Order {
public:
  Order() = default;
  /// Merges the pieces that can be one.
  explicit Order(llvm::ArrayRef<Piece> pieces);
  /// The order that stores the shape as it is.
  static Order identity(llvm::ArrayRef<int64_t> shape);
  /// Stores dimension dims[i] as dimension i.
  static Order ofDims(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);

  llvm::ArrayRef<Piece> getPieces() const { return pieces; }
  /// The shape of the stored tensor.
  graph::Shape stored() const;
  bool operator==(const Order &other) const = default;
  /// Whether the elements lie in memory as in the other order, so that a reshape leads from one to the other.
  bool isViewOf(const Order &other) const;

  /// The order of y = transpose(x) that stores y as this order stores x, so that y is x.
  Order transposed(llvm::ArrayRef<int64_t> permutation) const;
  /// The order of y = reshape(x) in which y's elements lie as x's do in this one; nullopt where no order
  /// of y has them so.
  std::optional<Order> reshaped(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) const;

private:
  llvm::SmallVector<Piece, 4> pieces;
};

/// Turns a tensor that is stored in the order `from` into one that is stored in the order `to`; makes no op where
/// they are the same.
mlir::Value converted(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, const Order &from, const Order &to,
                      llvm::ArrayRef<int64_t> shape);

/// [0, 2, ..., r-1, 1]: the dimensions of a channels-first tensor in channels-last order.
graph::Shape channelsLast(int64_t rank);
/// Brings values that belong to dimensions into an order of these.
template <typename T>
llvm::SmallVector<T> inOrder(llvm::ArrayRef<T> values, llvm::ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return values[dim]; });
}
/// [i -> the position of i in the permutation].
graph::Shape inverse(llvm::ArrayRef<int64_t> permutation);

} // namespace mpc::layout
#endif
