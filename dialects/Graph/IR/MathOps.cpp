//===- MathOps.cpp - elementwise ops: shapes and folds ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpc::graph;

/// Infers the type that all operands broadcast to, with the given element type.
static LogicalResult inferBroadcast(std::optional<Location> loc, ValueRange operands, Type element,
                                    SmallVectorImpl<Type> &types) {
  Shape shape(shapeOf(operands.front()));
  for (Value v : operands.drop_front()) {
    auto merged = broadcastShapes(shape, shapeOf(v));
    if (!merged)
      return emitOptionalError(loc, "shapes [", shape, "] and [", shapeOf(v), "] do not broadcast");
    shape = *merged;
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

#define BROADCASTING(OP)                                                                                               \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,                      \
                                     SmallVectorImpl<Type> &types) {                                                   \
    return inferBroadcast(loc, adaptor.getOperands(), elementOf(adaptor.getLhs()), types);                             \
  }
BROADCASTING(AddOp)
BROADCASTING(SubOp)
BROADCASTING(MulOp)
BROADCASTING(DivOp)
BROADCASTING(ModOp)
BROADCASTING(PowOp)
BROADCASTING(MinOp)
BROADCASTING(MaxOp)
BROADCASTING(AndOp)
BROADCASTING(OrOp)
BROADCASTING(XorOp)
#undef BROADCASTING

LogicalResult PReluOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return success();
}
LogicalResult PReluOp::verify() {
  auto shape = broadcastShapes(shapeOf(getX()), shapeOf(getSlope()));
  if (!shape || ArrayRef<int64_t>(*shape) != shapeOf(getX()))
    return emitOpError("the slope [") << shapeOf(getSlope()) << "] does not broadcast to x [" << shapeOf(getX()) << "]";
  return success();
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  return inferBroadcast(loc, adaptor.getOperands(), IntegerType::get(context, 1), types);
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  Type element = elementOf(adaptor.getOnTrue());
  if (elementOf(adaptor.getOnFalse()) != element)
    return emitOptionalError(loc, "both choices must have one element type, not ", element, " and ",
                             elementOf(adaptor.getOnFalse()));
  return inferBroadcast(loc, adaptor.getOperands(), element, types);
}

LogicalResult IsNonFiniteOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  types.push_back(typeOf(adaptor.getX()).clone(IntegerType::get(context, 1)));
  return success();
}
LogicalResult IsNaNOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  types.push_back(typeOf(adaptor.getX()).clone(IntegerType::get(context, 1)));
  return success();
}

LogicalResult ClipOp::verify() {
  for (auto [name, bound] : {std::pair("min", getMin()), std::pair("max", getMax())})
    if (bound.isNaN())
      return emitOpError(name) << " is NaN, which bounds nothing";
  return success();
}

LogicalResult BitcastOp::verify() {
  if (elementOf(getX()).getIntOrFloatBitWidth() != elementOf(getY()).getIntOrFloatBitWidth())
    return emitOpError("element types differ in width: ") << elementOf(getX()) << " and " << elementOf(getY());
  return success();
}

LogicalResult RandomOp::verify() {
  if (typeOf(getSeed()).getNumElements() != 1 || typeOf(getStep()).getNumElements() != 1)
    return emitOpError("seed and step must be one number each");
  return success();
}

LogicalResult DropoutOp::verify() {
  if (getX().getType() != getY().getType())
    return emitOpError("result must have the operand's type");
  if (!(getRatio().convertToDouble() >= 0 && getRatio().convertToDouble() < 1))
    return emitOpError("ratio must be in [0, 1), not ") << getRatio().convertToDouble();
  if (typeOf(getSeed()).getNumElements() != 1 || typeOf(getStep()).getNumElements() != 1)
    return emitOpError("seed and step must be one number each");
  return verifyAxes(getShared(), typeOf(getX()).getRank(), [&] { return emitOpError("shared: "); });
}

llvm::SmallVector<int64_t> DropoutOp::getMaskShape() {
  llvm::SmallVector<int64_t> shape(shapeOf(getX()));
  for (int64_t axis : getShared())
    shape[axis] = 1;
  return shape;
}

//===-- Folds -----------------------------------------------------------------===//

/// Returns whether the attribute is a splat of this number.
static bool isSplat(Attribute attr, double number) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(attr);
  if (!dense || !dense.isSplat())
    return false;
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().convertToDouble() == number;
  return double(dense.getSplatValue<APInt>().getSExtValue()) == number;
}

/// Returns `x` if it already has the op's result type.
static OpFoldResult sameType(Value x, Type type) { return x.getType() == type ? OpFoldResult(x) : OpFoldResult(); }

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  // -0 + 0 = 0, so x + 0 is x only for integers; x + (-0) would be, but nobody writes it.
  if (isFloat(getLhs()))
    return {};
  if (isSplat(adaptor.getRhs(), 0))
    return sameType(getLhs(), getType());
  if (isSplat(adaptor.getLhs(), 0))
    return sameType(getRhs(), getType());
  return {};
}
OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  return isSplat(adaptor.getRhs(), 0) ? sameType(getLhs(), getType()) : OpFoldResult();
}
OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getRhs(), 1))
    return sameType(getLhs(), getType());
  if (isSplat(adaptor.getLhs(), 1))
    return sameType(getRhs(), getType());
  return {};
}
OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return isSplat(adaptor.getRhs(), 1) ? sameType(getLhs(), getType()) : OpFoldResult();
}
OpFoldResult NegOp::fold(FoldAdaptor) {
  if (auto inner = getX().getDefiningOp<NegOp>())
    return inner.getX();
  return {};
}
OpFoldResult AbsOp::fold(FoldAdaptor) {
  if (getX().getDefiningOp<AbsOp>() || getX().getDefiningOp<ReluOp>())
    return getX();
  return {};
}
OpFoldResult ReluOp::fold(FoldAdaptor) {
  if (getX().getDefiningOp<ReluOp>() || getX().getDefiningOp<AbsOp>())
    return getX();
  return {};
}
OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (isSplat(adaptor.getCondition(), -1)) // true is all ones as a signed i1
    return sameType(getOnTrue(), getType());
  if (isSplat(adaptor.getCondition(), 0))
    return sameType(getOnFalse(), getType());
  return getOnTrue() == getOnFalse() ? sameType(getOnTrue(), getType()) : OpFoldResult();
}

/// Returns whether every value of the first float type is exact in the second.
static bool widens(Type from, Type to) {
  if (!isFloat(from) || !isFloat(to))
    return false;
  if (isFloat8(from))
    return from == to || !isFloat8(to);
  if (isLowPrecision(from))
    return from == to || to.isF32() || to.isF64();
  return from == to || (from.isF32() && to.isF64());
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getY().getType())
    return getX();
  // Widening is exact, so narrowing what was widened gives it back: cast(cast(x: f16 to f32) to f16) = x.
  if (auto inner = getX().getDefiningOp<CastOp>()) {
    Type from = elementOf(inner.getX());
    // f8E5M2 is excluded because of its infinity: a cast to it gives the largest finite number instead.
    if (!isa<Float8E5M2Type>(from) && inner.getX().getType() == getType() && widens(from, elementOf(getX())))
      return inner.getX();
  }
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX())) {
    auto to = dyn_cast<FloatType>(elementOf(getY()));
    if (to && isFloat(getX()) && (dense.isSplat() || dense.getNumElements() <= 1024))
      return dense.mapValues(to, [&](const APFloat &value) { return rounded(value, to).bitcastToAPInt(); });
    // Exporters write the scale of attention as one over the root of an integer, the size of a head. A table stays a
    // cast to fp32, for autocast would round a table of constants to 16 bits.
    if (auto from = dyn_cast<IntegerType>(elementOf(getX())); from && to && dense.isSplat())
      return dense.mapValues(to, [&](const APInt &value) {
        APFloat exact(APFloat::IEEEquad()); // holds all integers of 64 bits
        exact.convertFromAPInt(value, !from.isUnsigned() && from.getWidth() > 1, APFloat::rmNearestTiesToEven);
        return rounded(exact, to).bitcastToAPInt();
      });
  }
  return {};
}
