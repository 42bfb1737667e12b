//===- OpDims.h - how an op's dimensions belong together ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_LAYOUT_OPDIMS_H
#define MPC_PASSES_LAYOUT_OPDIMS_H
#include "passes/Layout/Order.h"

namespace mpc::layout {

/// Describes an op that can be computed in any order of the dimensions of one of its values, the anchor. Orders of its
/// other values follow.
struct OpDims {
  mlir::Value anchor;
  /// For each operand and each result, the anchor's dimension that each of its dimensions belongs to. A value without a
  /// list has no say and is in the program's order.
  llvm::SmallVector<std::optional<graph::Shape>> operands{}, results{};
  /// Dimensions of the anchor that cannot be split.
  llvm::SmallVector<int64_t> whole{};
  /// Dimension 0 has to stay the first.
  bool samplesFirst = false;
  /// A value that lacks a dimension of the anchor is broadcast along it. (Otherwise it is a result without the reduced
  /// dimensions, or one number for each channel.)
  bool broadcasts = false;
  /// The op reads its first operand, and waits for the others in whatever order they are.
  bool waits = false;

  /// Whether the op reads this operand.
  bool reads(unsigned operand) const { return operand == 0 || !waits; }
  /// Whether the op can be computed in this order of the anchor.
  bool supports(const Order &order) const;
  /// The order of a value of the op, and the shape that the op sees then, which may have more dimensions of size 1 than
  /// the stored tensor.
  Order orderOf(mlir::Value v, const std::optional<graph::Shape> &dims, const Order &order) const;
  graph::Shape shapeOf(mlir::Value v, const std::optional<graph::Shape> &dims, const Order &order) const;
};

/// Nullopt for an op that has to be computed in the program's order, or in another one that its kind prescribes.
std::optional<OpDims> dimsOf(mlir::Operation *op);

/// The dimensions of the first operand that no dimension of the first result follows
/// (IndexingOpInterface::followingDim).
llvm::SmallVector<int64_t> combinedDims(IndexingOpInterface op);

/// The layout of an op that has one: a convolution, a pool, or a gradient of one.
std::optional<graph::Layout> layoutOf(mlir::Operation *op);

} // namespace mpc::layout
#endif
