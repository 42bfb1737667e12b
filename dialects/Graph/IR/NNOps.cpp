//===- NNOps.cpp - matrix products, convolutions, pooling, norms, losses: shapes and checks ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc::graph;

static constexpr llvm::StringLiteral kElementTypes =
    "requires the same element type for all operands and results, unless all operands are 8-bit floats";

LogicalResult MatMulOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> a = shapeOf(adaptor.getA()), b = shapeOf(adaptor.getB());
  if (a.size() < 2 || b.size() < 2)
    return emitOptionalError(loc, "operands need two dimensions at least");
  auto batch = broadcastShapes(a.drop_back(2), b.drop_back(2));
  if (!batch)
    return emitOptionalError(loc, "batch dimensions [", a.drop_back(2), "] and [", b.drop_back(2),
                             "] do not broadcast");
  int64_t m = a[a.size() - 2], ka = a.back(), kb = b[b.size() - 2], n = b.back();
  if (adaptor.getTransposeA())
    std::swap(m, ka);
  if (adaptor.getTransposeB())
    std::swap(kb, n);
  if (ka != kb)
    return emitOptionalError(loc, "inner dimensions differ: ", ka, " vs ", kb);
  Type element = elementOf(adaptor.getA());
  bool float8 = isFloat8(element) && isFloat8(elementOf(adaptor.getB()));
  if (!float8 && element != elementOf(adaptor.getB()))
    return emitOptionalError(loc, kElementTypes);
  batch->push_back(m);
  batch->push_back(n);
  types.push_back(RankedTensorType::get(*batch, float8 ? Float32Type::get(context) : element));
  return success();
}

bool MatMulOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  if (inferred == actual)
    return true;
  // A product of 8-bit floats may also have a 16-bit result; `verify` checks products of other types.
  auto wanted = cast<RankedTensorType>(inferred[0]), given = cast<RankedTensorType>(actual[0]);
  return wanted.getShape() == given.getShape() && wanted.getElementType().isF32() &&
         isLowPrecision(given.getElementType());
}

LogicalResult MatMulOp::verify() {
  Type element = elementOf(getA());
  if (!isFloat8(element) && element != elementOf(getResult()))
    return emitOpError(kElementTypes);
  return success();
}

//===-- Convolutions -----------------------------------------------------------===//

namespace {
/// The window attributes that the convolution family shares.
struct Window {
  ArrayRef<int64_t> strides, dilations, padLow, padHigh;
  int64_t groups;
  Layout layout;
  bool weightChannelsLast;
};
} // namespace

template <typename OpOrAdaptor>
static Window windowOf(OpOrAdaptor op) {
  return {op.getStrides(), op.getDilations(),         op.getPadLow(), op.getPadHigh(), int64_t(op.getGroups()),
          op.getLayout(),  op.getWeightChannelsLast()};
}

/// Returns the shape of y, or emits an error.
static FailureOr<Shape> convShape(std::optional<Location> loc, ArrayRef<int64_t> x, ArrayRef<int64_t> w,
                                  const Window &win) {
  int64_t rank = x.size(), spatial = rank - 2;
  auto fail = [&](auto &&...parts) -> FailureOr<Shape> {
    (void)emitOptionalError(loc, parts...);
    return failure();
  };
  if (spatial < 1 || spatial > 3 || int64_t(w.size()) != rank)
    return fail("x and w need the same rank, 3 to 5, not ", rank, " and ", w.size());
  for (ArrayRef<int64_t> a : {win.strides, win.dilations, win.padLow, win.padHigh})
    if (int64_t(a.size()) != spatial)
      return fail("window attributes need ", spatial, " entries, not ", a.size());
  int64_t c = channelAxis(win.layout, rank), s = spatialAxis(win.layout);
  int64_t taken = win.weightChannelsLast ? w.back() : w[1];
  ArrayRef<int64_t> kernel = win.weightChannelsLast ? w.slice(1, spatial) : w.drop_front(2);
  if (win.groups < 1 || x[c] % win.groups != 0 || x[c] / win.groups != taken) // the product could overflow
    return fail("x has ", x[c], " channels, w takes ", taken, " x ", win.groups, " groups");
  if (w[0] % win.groups)
    return fail(w[0], " output channels do not divide into ", win.groups, " groups");
  Shape y(x);
  y[c] = w[0];
  for (int64_t i = 0; i < spatial; ++i) {
    if (win.strides[i] < 1 || win.dilations[i] < 1 || win.padLow[i] < 0 || win.padHigh[i] < 0)
      return fail("strides and dilations are positive, padding not negative");
    if (kernel[i] < 1)
      return fail("the kernel [", kernel, "] has no elements, so it computes nothing");
    y[s + i] = windowCount(x[s + i], kernel[i], win.strides[i], win.dilations[i], win.padLow[i], win.padHigh[i]);
    if (y[s + i] < 1)
      return fail("the kernel (", kernel[i], ", dilation ", win.dilations[i], ") does not fit into ", x[s + i],
                  " elements with padding ", win.padLow[i], " and ", win.padHigh[i]);
  }
  return y;
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  auto y = convShape(loc, shapeOf(adaptor.getX()), shapeOf(adaptor.getW()), windowOf(adaptor));
  if (failed(y))
    return failure();
  types.push_back(typeOf(adaptor.getX()).clone(*y));
  return success();
}
LogicalResult ConvOp::verify() { return success(); } // inference checks everything

static LogicalResult verifyConv(Operation *op, Value x, Value w, Value y, const Window &win) {
  auto expected = convShape(op->getLoc(), shapeOf(x), shapeOf(w), win);
  if (failed(expected))
    return failure();
  if (ArrayRef<int64_t>(*expected) != shapeOf(y))
    return op->emitOpError("the forward convolution gives [") << *expected << "], but dy is [" << shapeOf(y) << "]";
  return success();
}
LogicalResult ConvInputGradOp::verify() { return verifyConv(*this, getDx(), getW(), getDy(), windowOf(*this)); }
LogicalResult ConvWeightGradOp::verify() { return verifyConv(*this, getX(), getDw(), getDy(), windowOf(*this)); }

//===-- Pooling ------------------------------------------------------------------===//

template <typename OpOrAdaptor>
static FailureOr<Shape> poolShape(std::optional<Location> loc, ArrayRef<int64_t> x, OpOrAdaptor op, bool ceil) {
  int64_t rank = x.size(), spatial = rank - 2;
  auto fail = [&](auto &&...parts) -> FailureOr<Shape> {
    (void)emitOptionalError(loc, parts...);
    return failure();
  };
  if (spatial < 1)
    return fail("x needs a spatial dimension");
  for (ArrayRef<int64_t> a : {op.getKernel(), op.getStrides(), op.getDilations(), op.getPadLow(), op.getPadHigh()})
    if (int64_t(a.size()) != spatial)
      return fail("window attributes need ", spatial, " entries, not ", a.size());
  Shape y(x);
  int64_t s = spatialAxis(op.getLayout());
  for (int64_t i = 0; i < spatial; ++i) {
    if (op.getKernel()[i] < 1 || op.getStrides()[i] < 1 || op.getDilations()[i] < 1 || op.getPadLow()[i] < 0 ||
        op.getPadHigh()[i] < 0)
      return fail("kernel, strides and dilations are positive, padding not negative");
    if (x[s + i] == 0)
      return fail("there is nothing to pool: dimension ", s + i, " has no elements");
    y[s + i] = windowCount(x[s + i], op.getKernel()[i], op.getStrides()[i], op.getDilations()[i], op.getPadLow()[i],
                           op.getPadHigh()[i], ceil);
    if (y[s + i] < 1)
      return fail("the window (", op.getKernel()[i], ") does not fit into ", x[s + i], " elements");
  }
  return y;
}
LogicalResult MaxPoolOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto y = poolShape(loc, shapeOf(adaptor.getX()), adaptor, adaptor.getCeilMode());
  if (failed(y))
    return failure();
  types.push_back(typeOf(adaptor.getX()).clone(*y));
  types.push_back(RankedTensorType::get(*y, IntegerType::get(context, 16)));
  return success();
}
LogicalResult MaxPoolOp::verify() {
  int64_t positions = 1;
  for (int64_t k : getKernel())
    if (llvm::MulOverflow(positions, k, positions) || positions > INT16_MAX)
      return emitOpError("a window of [")
             << getKernel()
             << "] elements is too large: the position of the largest one is a number of 16 bits, at most "
             << INT16_MAX;
  return success();
}
LogicalResult AvgPoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto y = poolShape(loc, shapeOf(adaptor.getX()), adaptor, adaptor.getCeilMode());
  if (failed(y))
    return failure();
  types.push_back(typeOf(adaptor.getX()).clone(*y));
  return success();
}
LogicalResult AvgPoolOp::verify() { return success(); }

template <typename OpT>
static LogicalResult verifyPoolGrad(OpT op, std::initializer_list<bool> ceilModes) {
  if (elementOf(op.getDx()) != elementOf(op.getDy()))
    return op.emitOpError("dx and dy differ in element type");
  for (bool ceil : ceilModes) {
    auto y = poolShape(op.getLoc(), shapeOf(op.getDx()), op, ceil);
    if (failed(y))
      return failure();
    if (ArrayRef<int64_t>(*y) == shapeOf(op.getDy()))
      return success();
  }
  return op.emitOpError("dy [") << shapeOf(op.getDy()) << "] is not a pooling of dx [" << shapeOf(op.getDx()) << "]";
}
/// dy may have the floor or the ceil number of windows, because the argmax holds all that the gradient needs.
LogicalResult MaxPoolGradOp::verify() {
  if (shapeOf(getArgmax()) != shapeOf(getDy()))
    return emitOpError("argmax and dy differ in shape");
  return verifyPoolGrad(*this, {true, false}); // ceil is tried first: what fits with floor fits with ceil
}
LogicalResult AvgPoolGradOp::verify() { return verifyPoolGrad(*this, {bool(getCeilMode())}); }

//===-- Depthwise convolutions as windows --------------------------------------------===//

template <typename OpT>
static LogicalResult verifyDepthwise(OpT op, Value x, Value y) {
  auto expected = poolShape(op.getLoc(), shapeOf(x), op, /*ceil=*/false);
  if (failed(expected))
    return failure();
  if (ArrayRef<int64_t>(*expected) != shapeOf(y))
    return op.emitOpError("the forward convolution gives [") << *expected << "], not [" << shapeOf(y) << "]";
  Shape w(op.getKernel());
  w.push_back(shapeOf(x)[channelAxis(op.getLayout(), typeOf(x).getRank())]);
  if (ArrayRef<int64_t>(w) != shapeOf(op.getW()))
    return op.emitOpError("w has to be [") << w << "], but it is [" << shapeOf(op.getW()) << "]";
  return success();
}
LogicalResult DepthwiseConvOp::verify() { return verifyDepthwise(*this, getX(), getY()); }
LogicalResult DepthwiseInputGradOp::verify() { return verifyDepthwise(*this, getDx(), getDy()); }

//===-- Normalisation ---------------------------------------------------------------===//

template <typename OpT>
static LogicalResult verifyEpsilon(OpT op) {
  double epsilon = op.getEpsilon().convertToDouble();
  if (epsilon >= 0)
    return success();
  return op.emitOpError("epsilon must not be negative or NaN, but it is ") << epsilon;
}

/// Checks the axis of the channels, and that each of the values has one number of the compute type for each channel.
static LogicalResult verifyPerChannel(Operation *op, int64_t axis, ValueRange perChannel) {
  RankedTensorType x = typeOf(op->getOperand(0));
  if (axis < 0 || axis >= x.getRank())
    return op->emitOpError("axis ") << axis << " is out of range for rank " << x.getRank();
  for (Value v : perChannel)
    if (shapeOf(v) != ArrayRef<int64_t>{x.getDimSize(axis)} || elementOf(v) != computeType(x.getElementType()))
      return op->emitOpError("needs one ") << computeType(x.getElementType()) << " for each of " << x.getDimSize(axis)
                                           << " channels, not " << v.getType();
  return success();
}
template <typename OpT>
static LogicalResult verifyBatchNorm(OpT op, ValueRange perChannel) {
  return success(succeeded(verifyPerChannel(op, op.getAxis(), perChannel)) && succeeded(verifyEpsilon(op)));
}
LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  types.append({adaptor.getX().getType(), adaptor.getScale().getType(), adaptor.getScale().getType()});
  return success();
}
LogicalResult BatchNormOp::verify() { return verifyBatchNorm(*this, {getScale(), getBias()}); }
bool BatchNormOp::isFp32Operand(unsigned i) { return i >= 1; }

LogicalResult BatchNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  types.append({adaptor.getX().getType(), adaptor.getScale().getType(), adaptor.getScale().getType()});
  return success();
}
LogicalResult BatchNormGradOp::verify() {
  if (getX().getType() != getDy().getType())
    return emitOpError("x and dy differ in type");
  return verifyBatchNorm(*this, {getScale(), getMean(), getVariance()});
}
bool BatchNormGradOp::isFp32Operand(unsigned i) { return i >= 1 && i <= 3; }

LogicalResult BatchNormInferenceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                     SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return success();
}
LogicalResult BatchNormInferenceOp::verify() {
  return verifyBatchNorm(*this, {getScale(), getBias(), getMean(), getVariance()});
}
bool BatchNormInferenceOp::isFp32Operand(unsigned i) { return i >= 1; }

/// Returns the type of a layer norm's statistics: x's shape with 1 for the dimensions that the norm normalises over.
static RankedTensorType keptStatistics(Value x, Value like, ArrayRef<int64_t> axes) {
  return RankedTensorType::get(reducedShape(shapeOf(x), axes, /*keepdims=*/true), elementOf(like));
}
/// Checks that the axes are strictly increasing and within the rank, and that scale and bias have the compute type
/// and broadcast to x.
template <typename OpT>
static LogicalResult verifyLayerNorm(OpT op) {
  RankedTensorType x = typeOf(op.getX());
  if (failed(verifyAxes(op.getAxes(), x.getRank(), [&] { return op.emitOpError(); })))
    return failure();
  if (op.getAxes().empty())
    return op.emitOpError("needs an axis");
  if (failed(verifyEpsilon(op)))
    return failure();
  for (Value v : {op.getScale(), op.getBias()}) {
    auto shape = broadcastShapes(x.getShape(), shapeOf(v));
    if (!shape || ArrayRef<int64_t>(*shape) != x.getShape())
      return op.emitOpError() << v.getType() << " does not broadcast to " << x;
    if (elementOf(v) != computeType(x.getElementType()))
      return op.emitOpError("needs scale and bias of ") << computeType(x.getElementType()) << ", not " << v.getType();
  }
  return success();
}
LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  int64_t rank = typeOf(adaptor.getX()).getRank();
  for (int64_t axis : adaptor.getAxes())
    if (axis < 0 || axis >= rank)
      return emitOptionalError(loc, "axis ", axis, " is out of range for rank ", rank);
  Type statistics = keptStatistics(adaptor.getX(), adaptor.getScale(), adaptor.getAxes());
  types.append({adaptor.getX().getType(), statistics, statistics});
  return success();
}
LogicalResult LayerNormOp::verify() { return verifyLayerNorm(*this); }
bool LayerNormOp::isFp32Operand(unsigned i) { return i >= 1; }

LogicalResult LayerNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  types.append({adaptor.getX().getType(), adaptor.getScale().getType(), adaptor.getBias().getType()});
  return success();
}
LogicalResult LayerNormGradOp::verify() {
  if (failed(verifyLayerNorm(*this)))
    return failure();
  if (getX().getType() != getDy().getType())
    return emitOpError("x and dy differ in type");
  Type statistics = keptStatistics(getX(), getScale(), getAxes());
  for (Value v : {getMean(), getInverse()})
    if (v.getType() != statistics)
      return emitOpError("needs statistics ") << statistics << ", not " << v.getType();
  return success();
}
bool LayerNormGradOp::isFp32Operand(unsigned i) { return i >= 1 && i <= 4; }

/// Returns the type of statistics of groups: [N, groups].
static RankedTensorType groupStatistics(Value x, Value like, int64_t groups) {
  return RankedTensorType::get({shapeOf(x)[0], groups}, elementOf(like));
}
template <typename OpT>
static LogicalResult verifyGroupNorm(OpT op) {
  if (op.getAxis() < 1)
    return op.emitOpError("the first dimension is the samples', not the channels'");
  if (failed(verifyPerChannel(op, op.getAxis(), {op.getScale()})))
    return failure();
  int64_t channels = shapeOf(op.getX())[op.getAxis()], groups = op.getGroups();
  if (groups < 1 || channels % groups)
    return op.emitOpError() << channels << " channels do not divide into " << groups << " groups";
  return verifyEpsilon(op);
}
LogicalResult GroupNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (typeOf(adaptor.getX()).getRank() < 2)
    return emitOptionalError(loc, "x needs samples and channels");
  Type statistics = groupStatistics(adaptor.getX(), adaptor.getScale(), adaptor.getGroups());
  types.append({adaptor.getX().getType(), statistics, statistics});
  return success();
}
LogicalResult GroupNormOp::verify() {
  if (getScale().getType() != getBias().getType())
    return emitOpError("scale and bias differ in type");
  return verifyGroupNorm(*this);
}
bool GroupNormOp::isFp32Operand(unsigned i) { return i >= 1; }

LogicalResult GroupNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                SmallVectorImpl<Type> &types) {
  types.append({adaptor.getX().getType(), adaptor.getScale().getType(), adaptor.getScale().getType()});
  return success();
}
LogicalResult GroupNormGradOp::verify() {
  if (failed(verifyGroupNorm(*this)))
    return failure();
  if (getX().getType() != getDy().getType())
    return emitOpError("x and dy differ in type");
  Type statistics = groupStatistics(getX(), getScale(), getGroups());
  for (Value v : {getMean(), getInverse()})
    if (v.getType() != statistics)
      return emitOpError("needs statistics ") << statistics << ", not " << v.getType();
  return success();
}
bool GroupNormGradOp::isFp32Operand(unsigned i) { return i >= 1 && i <= 3; }

//===-- Softmax and losses ------------------------------------------------------------===//

template <typename OpT>
static LogicalResult verifyAxis(OpT op) {
  int64_t rank = typeOf(op.getX()).getRank();
  if (op.getAxis() < uint64_t(rank))
    return success();
  return op.emitOpError("axis ") << int64_t(op.getAxis()) << " is out of range for rank " << rank;
}
LogicalResult SoftmaxOp::verify() { return verifyAxis(*this); }
LogicalResult LogSoftmaxOp::verify() { return verifyAxis(*this); }

static void inferLoss(Value scores, Value labels, LossReduction reduction, SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = reduction == LossReduction::none ? shapeOf(labels) : ArrayRef<int64_t>();
  types.push_back(RankedTensorType::get(shape, elementOf(scores)));
}
static LogicalResult verifyLoss(Operation *op, Value scores, Value labels, Value weights) {
  ArrayRef<int64_t> s = shapeOf(scores), l = shapeOf(labels);
  if (s.size() < 2)
    return op->emitOpError("scores are [N, C, d...], not [") << s << "]";
  Shape expected(s);
  expected.erase(expected.begin() + 1);
  if (ArrayRef<int64_t>(expected) != l)
    return op->emitOpError("labels should be [") << expected << "], not [" << l << "]";
  if (weights && (shapeOf(weights) != ArrayRef<int64_t>{s[1]} || elementOf(weights) != elementOf(scores)))
    return op->emitOpError("weights should be ")
           << s[1] << " of " << elementOf(scores) << ", not " << weights.getType();
  return success();
}
LogicalResult NllLossOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  inferLoss(adaptor.getLogProbabilities(), adaptor.getLabels(), adaptor.getReduction(), types);
  return success();
}
LogicalResult NllLossOp::verify() { return verifyLoss(*this, getLogProbabilities(), getLabels(), getWeights()); }
LogicalResult SoftmaxCrossEntropyOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                                      SmallVectorImpl<Type> &types) {
  inferLoss(adaptor.getLogits(), adaptor.getLabels(), adaptor.getReduction(), types);
  return success();
}
LogicalResult SoftmaxCrossEntropyOp::verify() { return verifyLoss(*this, getLogits(), getLabels(), getWeights()); }
