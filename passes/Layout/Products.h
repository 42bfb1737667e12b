//===- Products.h - products of operands in other orders ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_LAYOUT_PRODUCTS_H
#define MPC_PASSES_LAYOUT_PRODUCTS_H
#include "passes/Layout/OrderChoice.h"
#include "passes/Layout/StoredValues.h"

namespace mpc::layout {

/// Rewrites a product to read its operands and write its result in orders that move the fewest bytes. Returns false
/// where it stays as it is, with its operands in the program's order.
///
/// A product reads matrices and transposed matrices, and (A B)^T is B^T A^T. A product with one right matrix does not
/// care in which order the rows are, as long as operand and result agree, nor in which order it sums along k, as long
/// as both operands agree.
bool rewriteProduct(graph::MatMulOp op, OrderChoice &choice, StoredValues &stored);

} // namespace mpc::layout
#endif
