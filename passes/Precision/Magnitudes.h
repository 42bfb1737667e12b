//===- Magnitudes.h - how large the numbers of a backward pass get ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_PRECISION_MAGNITUDES_H
#define MPC_PASSES_PRECISION_MAGNITUDES_H
#include "dialects/Graph/IR/GraphBuilder.h"

namespace mpc::precision {

/// Reduces x to a scalar.
template <typename OpT>
mlir::Value overAll(const graph::GraphBuilder &b, mlir::Value x) {
  graph::Shape axes = graph::allAxes(x);
  return axes.empty() ? x : mlir::Value(b.create<OpT>(x, axes, /*keepdims=*/false));
}

/// Returns max |x| over all elements of these float tensors, of which there is at least one: a tensor<f32>, which is
/// not finite when one of them is not. Each tensor's reduction has its location, and `loc` is that of the comparisons.
mlir::Value largestMagnitude(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<mlir::Value> values);

/// Finds the values of a block that depend on `scale` and are stored in 16 bits, because these may overflow. Values
/// that are made of others' elements are left out. A graph.scan whose body holds such values returns the largest
/// magnitude in each iteration, too, a tensor<iterations x f32>, and that is among the values found.
llvm::SmallVector<mlir::Value> findCotangents(mlir::Block &block, mlir::Value scale);

} // namespace mpc::precision
#endif
