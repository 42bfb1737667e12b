//===- StoredValues.h - the tensors that hold a program's values ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_LAYOUT_STOREDVALUES_H
#define MPC_PASSES_LAYOUT_STOREDVALUES_H
#include "passes/Layout/Order.h"

namespace mpc::layout {

/// The operand of a reshape or transpose of the program; null for another value.
mlir::Value viewedBy(mlir::Value v);
/// The order in which the operand of a reshape or transpose lies as the result does in `order`; nullopt
/// where there is none.
std::optional<Order> orderBehindView(mlir::Value view, const Order &order);

/// The tensors in which the values of the original program exist. A value is computed in one order; it is converted to
/// another one behind its definition when the first reader asks for that, and all further readers share the result. A
/// reshape or transpose of the program computes nothing: its result is stored where its operand is.
class StoredValues {
public:
  /// v in this order. `castsForFree` says that the reader's launch can compute a cast to a wider type, so that the
  /// narrower value is converted.
  mlir::Value get(mlir::Value v, const Order &order, bool castsForFree = false);
  /// v in the order of the program.
  mlir::Value plain(mlir::Value v, bool castsForFree = false) {
    return get(v, Order::identity(graph::shapeOf(v)), castsForFree);
  }
  /// The order that v was computed in.
  Order computedOrder(mlir::Value v);
  /// v in that order.
  mlir::Value any(mlir::Value v) { return get(v, computedOrder(v)); }
  /// Whether v in this order costs nothing.
  bool has(mlir::Value v, const Order &order);

  /// v is computed as `stored`, which has its elements in this order; its shape may differ in dimensions of size 1.
  void define(mlir::Value v, const Order &order, mlir::Value stored);

private:
  struct Form {
    Order order;
    mlir::Value value;
  };
  llvm::SmallVector<Form, 2> &formsOf(mlir::Value v);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<Form, 2>> forms;
  llvm::DenseMap<mlir::Value, Order> computedViews; // what computedOrder has found
};

} // namespace mpc::layout
#endif
