//===- Orders.h - the two orders of an activation's dimensions -----------------===//
#ifndef MPC_PASSES_LAYOUT_ORDERS_H
#define MPC_PASSES_LAYOUT_ORDERS_H
#include "dialects/Graph/IR/Shapes.h"

namespace mpc::layout {

/// [0, 2, ..., r-1, 1]: the permutation that makes [N, C, spatial...] channels-last.
graph::Shape toLast(int64_t rank);
/// Its inverse, [0, r-1, 1, ..., r-2].
graph::Shape toFirst(int64_t rank);

/// Brings values that belong to dimensions into channels-last order.
template <typename T>
llvm::SmallVector<T> permuted(llvm::ArrayRef<T> values) {
  llvm::SmallVector<T> result;
  for (int64_t i : toLast(values.size()))
    result.push_back(values[i]);
  return result;
}
/// The type of a channels-first tensor in the other order.
mlir::RankedTensorType lastType(mlir::Type type);

/// Dimension i of the result is dimension permutation[i] of x. Returns an existing value where it can: the
/// operand of an opposite transpose, a constant, an iota. Where only dimensions of size 1 move it returns a
/// view, and it transposes x before a broadcast rather than after it.
mlir::Value transposed(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, llvm::ArrayRef<int64_t> permutation);

/// The values of one entry in both orders, which are created when they are asked for. The keys are the values
/// of the original program.
class Orders {
public:
  /// v in its original order; created after v's definition if only the other form exists.
  mlir::Value first(mlir::Value v);
  /// v channels-last, created in the same way. v has at least three dimensions.
  mlir::Value last(mlir::Value v);
  /// Whether v was computed channels-last, so that its original order costs a transpose.
  bool isLast(mlir::Value v) const { return forms.lookup(v).computedLast; }
  /// Whether the channels-last form exists already, because v is a transpose of the program.
  bool hasLast(mlir::Value v);

  void setFirst(mlir::Value v, mlir::Value first) { forms[v].first = first; }
  void setLast(mlir::Value v, mlir::Value last) {
    forms[v].last = last;
    forms[v].computedLast = true;
  }

private:
  struct Forms {
    mlir::Value first, last;
    bool computedLast = false;
  };
  llvm::DenseMap<mlir::Value, Forms> forms;
};

} // namespace mpc::layout
#endif
