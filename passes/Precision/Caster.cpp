// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Precision/Caster.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::precision;

static bool isMove(Operation *op) { return op && rearranges(op); }

Value precision::stripMoves(Value x) {
  while (isMove(x.getDefiningOp()))
    x = x.getDefiningOp()->getOperand(0);
  return x;
}

Value Caster::get(Value x, Type element, Operation *user, const Twine &reason) {
  if (elementOf(x) == element)
    return x;
  // Widening is exact, so narrowing a value that was widened from this type gives the original back.
  if (auto widened = x.getDefiningOp<CastOp>();
      widened && inserted.contains(widened) && elementOf(widened.getX()) == element && isLowPrecision(element))
    return widened.getX();
  if (!cache)
    return create(x, element, user, reason);
  Value &value = known[{x, element}];
  if (value)
    return value;
  Value made = create(x, element, user, reason); // may rehash `known`
  return known[{x, element}] = made;
}

/// The location of a cast: that of its operand. No node makes what enters an iteration of a scan, so casts of it have
/// the location of what they serve.
static Location placeOf(Value x, Operation *user) {
  auto argument = dyn_cast<BlockArgument>(x);
  auto scan = argument ? dyn_cast<ScanOp>(argument.getOwner()->getParentOp()) : ScanOp();
  return scan && !scan.isInvariant(argument.getArgNumber()) ? user->getLoc() : x.getLoc();
}

Value Caster::create(Value x, Type element, Operation *user, const Twine &reason) {
  Operation *op = x.getDefiningOp();
  OpBuilder b(x.getContext());
  if (cache || isMove(op))
    b.setInsertionPointAfterValue(x);
  else
    b.setInsertionPoint(user);

  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
      auto rounded = dense.mapValues(element, [&](const APFloat &value) {
        APFloat result = value;
        bool losesInfo;
        result.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
        return result.bitcastToAPInt();
      });
      return ConstantOp::create(b, op->getLoc(), cast<ElementsAttr>(Attribute(rounded)));
    }
  if (isMove(op)) {
    Value operand = get(op->getOperand(0), element, op, reason);
    Operation *moved = b.clone(*op);
    moved->setOperand(0, operand);
    moved->getResult(0).setType(typeOf(x).clone(element));
    return moved->getResult(0);
  }
  auto made = CastOp::create(b, placeOf(x, user), typeOf(x).clone(element), x);
  made->setAttr(kReasonAttr, b.getStringAttr(reason));
  inserted.insert(made);
  ++numCasts;
  return made;
}
