//===- Demands.h - what ops ask of the orders of their values -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_LAYOUT_DEMANDS_H
#define MPC_PASSES_LAYOUT_DEMANDS_H
#include "passes/Layout/OrderChoice.h"

namespace mpc::layout {

/// Adds the wishes and ties of all ops of a block. `weights` says that convolutions read their weights
/// channels-last, too.
void addDemands(mlir::Block &block, bool weights, OrderChoice &choice);

/// A product whose right operand is one matrix: a's dimensions are rows and k, those of the result are the
/// same rows and n.
struct LinearDims {
  graph::Shape rowsOfA; // and of the result: 0, 1, ...
  int64_t kOfA, kOfB, nOfB;
};
/// Nullopt for a product of batches of matrices, which reads and writes the batch's dimensions in front.
std::optional<LinearDims> linearDims(graph::MatMulOp op);

/// Whether a value exists in every order: a constant, an iota, or one without dimensions.
bool isFree(mlir::Value v);
/// Whether an operand or result of a convolution is its weight.
bool isWeight(mlir::Value v, mlir::Operation *conv);
/// Whether the op is a convolution or pooling, or a gradient of one, of channels-first activations.
bool isWindow(mlir::Operation *op);

} // namespace mpc::layout
#endif
