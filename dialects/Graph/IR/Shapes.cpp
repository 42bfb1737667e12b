// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

RankedTensorType graph::typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }
ArrayRef<int64_t> graph::shapeOf(Value v) { return typeOf(v).getShape(); }
Type graph::elementOf(Value v) { return typeOf(v).getElementType(); }

std::optional<Shape> graph::broadcastShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a);
  size_t offset = a.size() - b.size();
  for (auto [i, extent] : llvm::enumerate(b)) {
    int64_t &r = result[offset + i];
    if (r == 1)
      r = extent;
    else if (extent != 1 && extent != r)
      return std::nullopt;
  }
  return result;
}

Shape graph::reducedShape(ArrayRef<int64_t> x, ArrayRef<int64_t> axes, bool keepdims) {
  Shape result;
  for (auto [i, extent] : llvm::enumerate(x)) {
    if (!llvm::is_contained(axes, int64_t(i)))
      result.push_back(extent);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

LogicalResult graph::verifyAxes(ArrayRef<int64_t> axes, int64_t rank, function_ref<InFlightDiagnostic()> error) {
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (axis < 0 || axis >= rank)
      return error() << "axis " << axis << " is out of range for rank " << rank;
    if (i > 0 && axes[i - 1] >= axis)
      return error() << "axes must be strictly increasing, got [" << axes << "]";
  }
  return success();
}

int64_t graph::windowCount(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t padLow,
                           int64_t padHigh, bool ceil) {
  // No attribute of 64 bits overflows these 128.
  __int128 room = __int128(in) + padLow + padHigh - __int128(dilation) * (__int128(kernel) - 1) - 1;
  if (room <= -__int128(stride) || (room < 0 && !ceil))
    return -1;
  __int128 count = room < 0 ? 0 : room / stride + 1;
  // A window that would start in the high padding does not count (ONNX, torch).
  if (ceil && room % stride != 0 && count * stride < __int128(in) + padLow)
    ++count;
  return count > 0 && count <= INT64_MAX ? int64_t(count) : -1;
}

int64_t graph::channelAxis(Layout layout, int64_t rank) { return layout == Layout::ChannelsFirst ? 1 : rank - 1; }
int64_t graph::spatialAxis(Layout layout) { return layout == Layout::ChannelsFirst ? 2 : 1; }

std::optional<double> graph::splatNumber(Value v) {
  while (Operation *producer = v.getDefiningOp()) {
    if (!rearranges(producer))
      break;
    v = producer->getOperand(0);
  }
  auto constant = v.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  APFloat value = elements.getSplatValue<APFloat>();
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

bool graph::transposesMatrices(Operation *op) {
  auto transpose = dyn_cast_or_null<TransposeOp>(op);
  int64_t rank = transpose ? typeOf(transpose.getX()).getRank() : 0;
  if (rank < 2)
    return false;
  for (auto [i, from] : llvm::enumerate(transpose.getPermutation()))
    if (from != (int64_t(i) < rank - 2 ? int64_t(i) : 2 * rank - 3 - int64_t(i)))
      return false;
  return true;
}

bool graph::isFloat(Type element) { return isa<FloatType>(element); }
bool graph::isLowPrecision(Type element) { return element.isF16() || element.isBF16(); }
bool graph::isFloat8(Type element) { return isa<Float8E4M3FNType, Float8E5M2Type>(element); }

llvm::APFloat graph::rounded(llvm::APFloat value, FloatType type) {
  const llvm::fltSemantics &to = type.getFloatSemantics();
  bool losesInfo = false;
  if (isFloat8(type)) {
    auto largest = llvm::APFloat::getLargest(to, value.isNegative());
    (void)largest.convert(value.getSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    if (!value.isNaN() && abs(largest) < abs(value))
      value = largest;
  }
  (void)value.convert(to, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value;
}

Type graph::computeType(Type element) {
  return isLowPrecision(element) || isFloat8(element) ? Float32Type::get(element.getContext()) : element;
}

TypedAttr graph::numberAttr(Type element, double value) {
  if (auto type = dyn_cast<FloatType>(element))
    return FloatAttr::get(type, value);
  auto type = cast<IntegerType>(element);
  return IntegerAttr::get(type, APInt(64, uint64_t(int64_t(value))).trunc(type.getWidth()));
}

Value graph::splat(OpBuilder &b, Location loc, RankedTensorType type, double value) {
  return ConstantOp::create(b, loc, DenseElementsAttr::get(type, Attribute(numberAttr(type.getElementType(), value))));
}

Value graph::scalar(OpBuilder &b, Location loc, Type element, double value) {
  return splat(b, loc, RankedTensorType::get({}, element), value);
}

Value graph::castTo(OpBuilder &b, Location loc, Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return CastOp::create(b, loc, typeOf(x).clone(element), x);
}

Value graph::reshapeTo(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return ReshapeOp::create(b, loc, typeOf(x).clone(shape), x);
}

Value graph::broadcastTo(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape)
    return x;
  return BroadcastOp::create(b, loc, typeOf(x).clone(shape), x);
}

Value graph::sumTo(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = shapeOf(x);
  if (from == shape)
    return x;
  Shape axes;
  int64_t offset = from.size() - shape.size();
  for (int64_t i = 0, e = from.size(); i < e; ++i)
    if (i < offset || (shape[i - offset] == 1 && from[i] != 1))
      axes.push_back(i);
  Value sum = axes.empty() ? x : Value(ReduceSumOp::create(b, loc, x, axes, /*keepdims=*/false));
  return reshapeTo(b, loc, sum, shape);
}

Value graph::adaptContribution(OpBuilder &b, Location loc, Value x, RankedTensorType type) {
  if (shapeOf(x) != type.getShape()) {
    // A contribution may be a broadcast scalar or a full cotangent of a broadcast operand.
    auto shape = broadcastShapes(shapeOf(x), type.getShape());
    assert(shape && "the contribution broadcasts with its operand");
    x = broadcastTo(b, loc, x, *shape);
    x = sumTo(b, loc, castTo(b, loc, x, computeType(elementOf(x))), type.getShape());
  }
  return castTo(b, loc, x, type.getElementType());
}
