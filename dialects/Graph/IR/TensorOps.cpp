//===- TensorOps.cpp - constants and data movement: shapes, checks, folds ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <cmath>

using namespace mlir;
using namespace mpc::graph;

static LogicalResult checkAxis(std::optional<Location> loc, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return emitOptionalError(loc, "axis ", axis, " is out of range for rank ", rank);
}

//===-- Constants --------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getType());
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::verify() { return checkAxis(getLoc(), getAxis(), typeOf(getResult()).getRank()); }

//===-- Reshape, transpose, broadcast --------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  if (typeOf(getX()).getNumElements() != typeOf(getY()).getNumElements())
    return emitOpError("cannot reshape ")
           << typeOf(getX()).getNumElements() << " elements to [" << shapeOf(getY()) << "]";
  return success();
}
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX()))
    return dense.reshape(cast<ShapedType>(getType()));
  return {};
}
namespace {
/// reshape(reshape(x)) = reshape(x)
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(inner.getX()); });
    return success();
  }
};
/// transpose(transpose(x)) = transpose(x)
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    Shape permutation;
    for (int64_t i : op.getPermutation())
      permutation.push_back(inner.getPermutation()[i]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getX(), permutation);
    return success();
  }
};
/// A transpose that moves only dimensions of size 1 is a reshape.
struct TransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    int64_t last = -1;
    for (int64_t i : op.getPermutation()) {
      if (shapeOf(op.getX())[i] == 1)
        continue;
      if (i < last)
        return failure();
      last = i;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
};
} // namespace
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeReshapes>(context);
}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes, TransposeToReshape>(context);
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<bool> seen(x.getRank());
  Shape shape;
  for (int64_t i : permutation) {
    if (i < 0 || i >= x.getRank() || seen[i])
      return emitOptionalError(loc, "[", permutation, "] is not a permutation of ", x.getRank(), " dimensions");
    seen[i] = true;
    shape.push_back(x.getDimSize(i));
  }
  if (int64_t(permutation.size()) != x.getRank())
    return emitOptionalError(loc, "[", permutation, "] is not a permutation of ", x.getRank(), " dimensions");
  types.push_back(x.clone(shape));
  return success();
}
OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  for (auto [i, p] : llvm::enumerate(getPermutation()))
    if (int64_t(i) != p) {
      auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX());
      return dense && dense.isSplat() ? OpFoldResult(dense.resizeSplat(cast<ShapedType>(getType()))) : OpFoldResult();
    }
  return getX();
}

LogicalResult BroadcastOp::verify() {
  auto shape = broadcastShapes(shapeOf(getX()), shapeOf(getY()));
  if (!shape || ArrayRef<int64_t>(*shape) != shapeOf(getY()))
    return emitOpError("[") << shapeOf(getX()) << "] does not broadcast to [" << shapeOf(getY()) << "]";
  return success();
}
OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX());
  return dense && dense.isSplat() ? OpFoldResult(dense.resizeSplat(cast<ShapedType>(getType()))) : OpFoldResult();
}

//===-- Concat, slice, pad ----------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  ValueRange inputs = adaptor.getInputs();
  if (inputs.empty())
    return emitOptionalError(loc, "nothing to concatenate");
  RankedTensorType first = typeOf(inputs.front());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, first.getRank())))
    return failure();
  Shape shape(first.getShape());
  for (Value v : inputs.drop_front()) {
    RankedTensorType type = typeOf(v);
    if (type.getRank() != first.getRank() || type.getElementType() != first.getElementType())
      return emitOptionalError(loc, "cannot concatenate ", first, " with ", type);
    for (int64_t i = 0; i < first.getRank(); ++i)
      if (i != axis && type.getDimSize(i) != first.getDimSize(i))
        return emitOptionalError(loc, "dimension ", i, " differs: ", first.getDimSize(i), " vs ", type.getDimSize(i));
    shape[axis] += type.getDimSize(axis);
  }
  types.push_back(first.clone(shape));
  return success();
}
OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs()[0]) : OpFoldResult();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  ArrayRef<int64_t> starts = adaptor.getStarts(), sizes = adaptor.getSizes(), strides = adaptor.getStrides();
  size_t rank = x.getRank();
  if (starts.size() != rank || sizes.size() != rank || strides.size() != rank)
    return emitOptionalError(loc, "starts, sizes and strides need one entry for each of ", rank, " dimensions");
  for (size_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0 || strides[i] == 0)
      return emitOptionalError(loc, "dimension ", i, ": sizes are not negative and strides not zero");
    if (sizes[i] == 0)
      continue;
    std::optional<int64_t> last = llvm::checkedMulAdd(sizes[i] - 1, strides[i], starts[i]);
    if (!last)
      return emitOptionalError(loc, "dimension ", i, ": ", sizes[i], " elements from ", starts[i], " in steps of ",
                               strides[i], " do not lie within ", x.getDimSize(i));
    if (std::min(starts[i], *last) < 0 || std::max(starts[i], *last) >= x.getDimSize(i))
      return emitOptionalError(loc, "dimension ", i, ": elements ", starts[i], " to ", *last, " of ", x.getDimSize(i));
  }
  types.push_back(x.clone(sizes));
  return success();
}
OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  bool whole = getX().getType() == getType() && llvm::all_of(getStrides(), [](int64_t s) { return s == 1; });
  if (whole)
    return getX();
  auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX());
  return dense && dense.isSplat() ? OpFoldResult(dense.resizeSplat(cast<ShapedType>(getType()))) : OpFoldResult();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  ArrayRef<int64_t> low = adaptor.getLow(), high = adaptor.getHigh(), interior = adaptor.getInterior();
  size_t rank = x.getRank();
  if (low.size() != rank || high.size() != rank || interior.size() != rank)
    return emitOptionalError(loc, "low, high and interior need one entry for each of ", rank, " dimensions");
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    int64_t n = x.getDimSize(i);
    if (interior[i] < 0)
      return emitOptionalError(loc, "dimension ", i, ": interior padding is negative");
    // An operand with elements spreads to n + (n - 1)*interior of them.
    std::optional<int64_t> extent = n == 0 ? 0 : llvm::checkedMulAdd(n - 1, interior[i], n);
    for (int64_t padding : {low[i], high[i]})
      extent = extent ? llvm::checkedAdd(*extent, padding) : std::nullopt;
    if (!extent)
      return emitOptionalError(loc, "dimension ", i, ": padding by ", low[i], ", ", high[i], " and ", interior[i],
                               " between neighbours overflows 64 bits");
    if (*extent < 0)
      return emitOptionalError(loc, "dimension ", i, " becomes negative");
    shape.push_back(*extent);
  }
  types.push_back(x.clone(shape));
  return success();
}

//===-- Gather, resize -------------------------------------------------------------===//

/// Returns the shape of x with dimension `axis` replaced by the dimensions of the indices.
static Shape gatheredShape(ArrayRef<int64_t> x, ArrayRef<int64_t> indices, int64_t axis) {
  Shape shape(x.take_front(axis));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, x.drop_front(axis + 1));
  return shape;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  if (failed(checkAxis(loc, adaptor.getAxis(), x.getRank())))
    return failure();
  types.push_back(x.clone(gatheredShape(x.getShape(), shapeOf(adaptor.getIndices()), adaptor.getAxis())));
  return success();
}
LogicalResult ScatterOp::verify() {
  if (failed(checkAxis(getLoc(), getAxis(), typeOf(getY()).getRank())))
    return failure();
  Shape expected = gatheredShape(shapeOf(getY()), shapeOf(getIndices()), getAxis());
  if (ArrayRef<int64_t>(expected) != shapeOf(getUpdates()))
    return emitOpError("the updates should be [") << expected << "], not [" << shapeOf(getUpdates()) << "]";
  if (elementOf(getY()) != elementOf(getUpdates()))
    return emitOpError("result and updates differ in element type");
  return success();
}
mpc::Combiner ScatterOp::getCombiner() {
  switch (getMode()) {
  case ScatterMode::add:
    return Combiner::Add;
  case ScatterMode::multiply:
    return Combiner::Multiply;
  case ScatterMode::max:
    return Combiner::Max;
  case ScatterMode::min:
    return Combiner::Min;
  }
  llvm_unreachable("all modes are handled");
}

/// A scale is 0 where all results read one coordinate (ONNX's align_corners, to or from one element). It is never
/// negative, because that would read the operand backwards, which no mode of ONNX that is supported does.
static LogicalResult verifyResize(Operation *op, ArrayRef<double> scales, ArrayRef<double> offsets,
                                  double nearestBias) {
  RankedTensorType from = typeOf(op->getOperand(0)), to = typeOf(op->getResult(0));
  int64_t rank = from.getRank();
  if (to.getRank() != rank)
    return op->emitOpError("result and operand differ in rank: ") << to.getRank() << " and " << rank;
  RankedTensorType x = isa<ResizeOp>(op) ? from : to, y = isa<ResizeOp>(op) ? to : from;
  if (x.getNumElements() == 0 && y.getNumElements() != 0)
    return op->emitOpError("there is nothing to resize: ") << x << " has no elements and " << y << " has some";
  if (int64_t(scales.size()) != rank || int64_t(offsets.size()) != rank)
    return op->emitOpError("scales and offsets need one entry for each of ") << rank << " dimensions";
  for (auto [i, scale] : llvm::enumerate(scales))
    if (!(scale >= 0) || std::isinf(scale))
      return op->emitOpError("dimension ") << i << ": a scale is finite and not negative, not " << scale;
  for (auto [i, offset] : llvm::enumerate(offsets))
    if (!std::isfinite(offset))
      return op->emitOpError("dimension ") << i << ": an offset is finite, not " << offset;
  if (!std::isfinite(nearestBias))
    return op->emitOpError("nearest_bias is finite, not ") << nearestBias;
  if (from.getElementType() != to.getElementType())
    return op->emitOpError("result and operand differ in element type");
  return success();
}
LogicalResult ResizeOp::verify() {
  return verifyResize(*this, getScales(), getOffsets(), getNearestBias().convertToDouble());
}
LogicalResult ResizeGradOp::verify() {
  return verifyResize(*this, getScales(), getOffsets(), getNearestBias().convertToDouble());
}
