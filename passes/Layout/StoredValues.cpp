// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Layout/StoredValues.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

Value layout::viewedBy(Value v) {
  Operation *op = v.getDefiningOp();
  return isa_and_nonnull<ReshapeOp, TransposeOp>(op) ? op->getOperand(0) : Value();
}
/// The order of a view whose operand has this order.
static std::optional<Order> ofView(Value view, const Order &order) {
  if (auto transpose = view.getDefiningOp<TransposeOp>())
    return order.transposed(transpose.getPermutation());
  return order.reshaped(shapeOf(viewedBy(view)), shapeOf(view));
}
std::optional<Order> layout::orderBehindView(Value view, const Order &order) {
  if (auto transpose = view.getDefiningOp<TransposeOp>())
    return order.transposed(inverse(transpose.getPermutation()));
  return order.reshaped(shapeOf(view), shapeOf(viewedBy(view)));
}

/// The cast to an element type that is not narrower which computes v; null if there is none.
static CastOp wideningCast(Value v) {
  auto cast = v.getDefiningOp<CastOp>();
  return cast && bytesOf(cast.getX()) <= bytesOf(v) ? cast : CastOp();
}

SmallVector<StoredValues::Form, 2> &StoredValues::formsOf(Value v) {
  auto [it, isNew] = forms.try_emplace(v);
  if (isNew && !viewedBy(v))
    it->second.push_back({Order::identity(shapeOf(v)), v});
  return it->second;
}

Order StoredValues::computedOrder(Value v) {
  Value x = viewedBy(v);
  if (!x)
    return formsOf(v).front().order;
  if (auto known = computedViews.find(v); known != computedViews.end())
    return known->second;
  Order order = ofView(v, computedOrder(x)).value_or(Order::identity(shapeOf(v)));
  return computedViews[v] = order;
}

bool StoredValues::has(Value v, const Order &order) {
  if (llvm::any_of(formsOf(v), [&](const Form &form) { return form.order.isViewOf(order); }))
    return true;
  Value x = viewedBy(v);
  std::optional<Order> behind = x ? orderBehindView(v, order) : std::nullopt;
  return behind && has(x, *behind);
}

Value StoredValues::get(Value v, const Order &order, bool castsForFree) {
  for (const Form &form : formsOf(v))
    if (form.order == order)
      return form.value;
  OpBuilder b(v.getContext());
  Value result;
  if (Value x = viewedBy(v)) {
    std::optional<Order> behind = orderBehindView(v, order);
    Value source = behind ? get(x, *behind) : plain(x);
    b.setInsertionPointAfterValue(source);
    result = behind ? reshapeTo(b, v.getLoc(), source, order.stored())
                    : converted(b, v.getLoc(), reshapeTo(b, v.getLoc(), source, shapeOf(v)),
                                Order::identity(shapeOf(v)), order, shapeOf(v));
  } else if (CastOp cast = castsForFree ? wideningCast(v) : CastOp(); cast && !has(v, order)) {
    // The narrower value is transposed.
    Value source = get(cast.getX(), order);
    b.setInsertionPointAfterValue(source);
    result = CastOp::create(b, cast.getLoc(), TypeRange(typeOf(v).clone(order.stored())), ValueRange(source),
                            cast->getAttrs());
  } else {
    // A view of a form that exists is better than a transpose of the first.
    SmallVector<Form, 2> &known = formsOf(v);
    auto form = llvm::find_if(known, [&](const Form &other) { return other.order.isViewOf(order); });
    Form source = form == known.end() ? known.front() : *form;
    b.setInsertionPointAfterValue(source.value);
    result = converted(b, v.getLoc(), source.value, source.order, order, shapeOf(v));
  }
  formsOf(v).push_back({order, result});
  return result;
}

void StoredValues::define(Value v, const Order &order, Value stored) {
  OpBuilder b(v.getContext());
  b.setInsertionPointAfterValue(stored);
  forms[v] = {{order, reshapeTo(b, v.getLoc(), stored, order.stored())}};
}
