// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each op answers here which dimensions of its results follow which of its operands
// (IndexingOpInterface::followingDim), and a window also how its work repeats (getPeriod).
#include "dialects/Graph/IR/Reductions.h"
#include "dialects/Graph/IR/Shapes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

using Followed = std::optional<int64_t>;

/// Returns the dimension `there` if it follows, else nullopt.
static Followed onlyIf(bool follows, int64_t there) { return follows ? Followed(there) : std::nullopt; }

//===-- Movement ---------------------------------------------------------------------===//

/// Returns the row-major stride of a dimension, in elements.
static int64_t strideOf(ArrayRef<int64_t> shape, int64_t dim) { return llvm::product_of(shape.drop_front(dim + 1)); }

Followed ReshapeOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  ArrayRef<int64_t> from = shapeOf(operand.get()), to = shapeOf(result);
  for (int64_t there = 0; there < int64_t(to.size()); ++there)
    if (to[there] == from[dim] && strideOf(to, there) == strideOf(from, dim))
      return there;
  return std::nullopt;
}
Followed BarrierOp::followingDim(OpOperand &, OpResult, int64_t dim) { return dim; }
bool BarrierOp::dependsOn(OpOperand &operand, OpResult) { return operand.getOperandNumber() == 0; }
Followed TransposeOp::followingDim(OpOperand &, OpResult, int64_t dim) {
  return llvm::find(getPermutation(), dim) - getPermutation().begin();
}
Followed BroadcastOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return alignedDim(operand, result, dim);
}
Followed ConcatOp::followingDim(OpOperand &, OpResult, int64_t dim) { return onlyIf(dim != int64_t(getAxis()), dim); }
Followed SliceOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return onlyIf(getStarts()[dim] == 0 && getStrides()[dim] == 1 && shapeOf(operand.get())[dim] == shapeOf(result)[dim],
                dim);
}
Followed PadOp::followingDim(OpOperand &, OpResult, int64_t dim) {
  return onlyIf(getLow()[dim] == 0 && getHigh()[dim] == 0 && getInterior()[dim] == 0, dim);
}
/// y[a..., i..., b...] = x[a..., indices[i...], b...]
Followed GatherOp::followingDim(OpOperand &operand, OpResult, int64_t dim) {
  int64_t axis = getAxis(), picked = typeOf(getIndices()).getRank();
  if (operand.getOperandNumber() == 1)
    return axis + dim;
  return onlyIf(dim != axis, dim < axis ? dim : dim + picked - 1);
}
/// This is the opposite of a gather: updates[a..., i..., b...] go to y[a..., indices[i...], b...].
Followed ScatterOp::followingDim(OpOperand &operand, OpResult, int64_t dim) {
  int64_t axis = getAxis(), picked = typeOf(getIndices()).getRank();
  if (operand.getOperandNumber() == 1)
    return std::nullopt;
  return onlyIf(dim < axis || dim >= axis + picked, dim < axis ? dim : dim - picked + 1);
}

//===-- Windows ----------------------------------------------------------------------===//

/// Windows lie in the spatial dimensions, so only the dimensions of samples and channels follow their own.
template <typename Pool>
static Followed besideWindow(Pool pool, OpOperand &operand, int64_t dim) {
  return onlyIf(dim == 0 || dim == channelAxis(pool.getLayout(), typeOf(operand.get()).getRank()), dim);
}
Followed MaxPoolOp::followingDim(OpOperand &operand, OpResult, int64_t dim) {
  return besideWindow(*this, operand, dim);
}
Followed MaxPoolGradOp::followingDim(OpOperand &operand, OpResult, int64_t dim) {
  return besideWindow(*this, operand, dim);
}
Followed AvgPoolOp::followingDim(OpOperand &operand, OpResult, int64_t dim) {
  return besideWindow(*this, operand, dim);
}
Followed AvgPoolGradOp::followingDim(OpOperand &operand, OpResult, int64_t dim) {
  return besideWindow(*this, operand, dim);
}

/// The weights of a depthwise convolution, [kernel..., C], belong to channels.
template <typename Depthwise>
static Followed besideDepthwise(Depthwise op, OpOperand &operand, OpResult result, int64_t dim) {
  if (operand.getOperandNumber() == 0)
    return besideWindow(op, operand, dim);
  return onlyIf(dim == int64_t(op.getKernel().size()), channelAxis(op.getLayout(), typeOf(result).getRank()));
}
Followed DepthwiseConvOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return besideDepthwise(*this, operand, result, dim);
}
Followed DepthwiseInputGradOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return besideDepthwise(*this, operand, result, dim);
}

/// The windows that an element of a pool's operand lies in repeat with the stride, for neighbours along
/// the last dimension.
template <typename Pool>
static int64_t periodOf(Pool pool) {
  int64_t stride = pool.getStrides().back();
  return pool.getLayout() == Layout::ChannelsFirst && stride <= 4 ? stride : 1;
}
int64_t MaxPoolGradOp::getPeriod() { return periodOf(*this); }
int64_t AvgPoolGradOp::getPeriod() { return periodOf(*this); }
int64_t DepthwiseInputGradOp::getPeriod() { return periodOf(*this); }
int64_t DepthwiseConvOp::getPeriod() { return 1; }
int64_t MaxPoolOp::getPeriod() { return 1; }
int64_t AvgPoolOp::getPeriod() { return 1; }
int64_t ResizeOp::getPeriod() { return 1; }
int64_t ResizeGradOp::getPeriod() { return 1; }
int64_t ArgMaxOp::getPeriod() { return 1; }

template <typename Resize>
static Followed besideResize(Resize resize, OpOperand &operand, OpResult result, int64_t dim) {
  return onlyIf(resize.getScales()[dim] == 1 && resize.getOffsets()[dim] == 0 &&
                    shapeOf(operand.get())[dim] == shapeOf(result)[dim],
                dim);
}
Followed ResizeOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return besideResize(*this, operand, result, dim);
}
Followed ResizeGradOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return besideResize(*this, operand, result, dim);
}

//===-- What is read beside the same index -------------------------------------------------------------===//

using Read = std::optional<ReadRange>;

/// Operand i of a concatenation is read where its part of the result begins.
Read ConcatOp::readRange(OpOperand &operand, OpResult, int64_t dim) {
  int64_t begin = 0;
  if (dim == int64_t(getAxis()))
    for (Value before : getInputs().take_front(operand.getOperandNumber()))
      begin += shapeOf(before)[dim];
  return ReadRange{.dim = dim, .offset = -begin};
}
Read SliceOp::readRange(OpOperand &, OpResult, int64_t dim) {
  return ReadRange{.dim = dim, .stride = getStrides()[dim], .offset = getStarts()[dim]};
}
Read PadOp::readRange(OpOperand &, OpResult, int64_t dim) {
  return getInterior()[dim] == 0 ? Read(ReadRange{.dim = dim, .offset = -getLow()[dim]}) : std::nullopt;
}

/// Returns the number of neighbours that a window covers along spatial dimension i.
template <typename Pool>
static int64_t coverOf(Pool pool, int64_t i) {
  return pool.getDilations()[i] * (pool.getKernel()[i] - 1) + 1;
}
template <typename Pool>
static Read windowAlong(Pool pool, OpOperand &operand, int64_t dim) {
  if (besideWindow(pool, operand, dim))
    return ReadRange{dim};
  int64_t i = dim - spatialAxis(pool.getLayout());
  return ReadRange{
      .dim = dim, .stride = pool.getStrides()[i], .offset = -pool.getPadLow()[i], .span = coverOf(pool, i)};
}
Read MaxPoolOp::readRange(OpOperand &operand, OpResult, int64_t dim) { return windowAlong(*this, operand, dim); }
Read AvgPoolOp::readRange(OpOperand &operand, OpResult, int64_t dim) { return windowAlong(*this, operand, dim); }

/// The windows that cover an element are those that begin at it or before it; with a stride their
/// numbers are quotients.
template <typename Pool>
static Read windowsOver(Pool pool, OpOperand &operand, int64_t dim) {
  if (besideWindow(pool, operand, dim))
    return ReadRange{dim};
  int64_t i = dim - spatialAxis(pool.getLayout()), span = coverOf(pool, i);
  return pool.getStrides()[i] == 1 ? Read(ReadRange{.dim = dim, .offset = pool.getPadLow()[i] - span + 1, .span = span})
                                   : std::nullopt;
}
Read MaxPoolGradOp::readRange(OpOperand &operand, OpResult, int64_t dim) { return windowsOver(*this, operand, dim); }
Read AvgPoolGradOp::readRange(OpOperand &operand, OpResult, int64_t dim) { return windowsOver(*this, operand, dim); }

/// Every element needs the whole kernel of its channel.
template <typename Depthwise>
static Read kernelOfChannel(Depthwise op, OpOperand &operand, OpResult result, int64_t dim) {
  if (Followed channel = besideDepthwise(op, operand, result, dim))
    return ReadRange{*channel};
  return ReadRange{.dim = 0, .stride = 0, .span = op.getKernel()[dim]};
}
Read DepthwiseConvOp::readRange(OpOperand &operand, OpResult result, int64_t dim) {
  return operand.getOperandNumber() == 0 ? windowAlong(*this, operand, dim)
                                         : kernelOfChannel(*this, operand, result, dim);
}
Read DepthwiseInputGradOp::readRange(OpOperand &operand, OpResult result, int64_t dim) {
  return operand.getOperandNumber() == 0 ? windowsOver(*this, operand, dim)
                                         : kernelOfChannel(*this, operand, result, dim);
}

//===-- Reductions -------------------------------------------------------------------===//

Followed mpc::graph::keptDim(ArrayRef<int64_t> axes, bool keepdims, int64_t dim) {
  int64_t before = llvm::count_if(axes, [&](int64_t axis) { return axis < dim; });
  return onlyIf(!llvm::is_contained(axes, dim), keepdims ? dim : dim - before);
}
Followed ArgMaxOp::followingDim(OpOperand &, OpResult, int64_t dim) {
  return keptDim({int64_t(getAxis())}, getKeepdims(), dim);
}
Followed SoftmaxOp::followingDim(OpOperand &, OpResult, int64_t dim) { return onlyIf(dim != int64_t(getAxis()), dim); }
Followed LogSoftmaxOp::followingDim(OpOperand &, OpResult, int64_t dim) {
  return onlyIf(dim != int64_t(getAxis()), dim);
}

//===-- Contractions -----------------------------------------------------------------===//

/// a is [..., m, k] and b is [..., k, n], each perhaps with its last two dimensions swapped.
Followed MatMulOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  bool isA = operand.getOperandNumber() == 0;
  int64_t rank = typeOf(operand.get()).getRank(), resultRank = typeOf(result).getRank();
  if (dim < rank - 2)
    return alignedDim(operand, result, dim);
  if (isA ? getTransposeA() : getTransposeB())
    dim = 2 * rank - 3 - dim;
  return onlyIf(dim == (isA ? rank - 2 : rank - 1), dim + resultRank - rank);
}

/// Returns the dimension of a weight of that rank that counts the input channels; the output channels come first.
template <typename Conv>
static int64_t inputAxis(Conv conv, int64_t rank) {
  return conv.getWeightChannelsLast() ? rank - 1 : 1;
}
/// y[sample, out, place] depends on x[sample, in, places] and w[out, in of the group, kernel].
Followed ConvOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return onlyIf(dim == 0, operand.getOperandNumber() == 0 ? 0 : channelAxis(getLayout(), typeOf(result).getRank()));
}
/// dx[sample, in, place] depends on dy[sample, out, places] and w.
Followed ConvInputGradOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  int64_t rank = typeOf(result).getRank();
  if (operand.getOperandNumber() == 0)
    return onlyIf(dim == 0, 0);
  return onlyIf(getGroups() == 1 && dim == inputAxis(*this, rank), channelAxis(getLayout(), rank));
}
/// dw[out, in of the group, kernel] depends on x[sample, in, places] and dy[sample, out, places].
Followed ConvWeightGradOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  int64_t rank = typeOf(result).getRank();
  bool isChannel = dim == channelAxis(getLayout(), rank);
  if (operand.getOperandNumber() == 1)
    return onlyIf(isChannel, 0);
  return onlyIf(isChannel && getGroups() == 1, inputAxis(*this, rank));
}

//===-- Norms ------------------------------------------------------------------------===//

/// In a norm only channels follow channels: they are dimension `axis` of an activation (rank above 1) and dimension 0
/// of a number per channel.
static Followed channelOf(int64_t axis, OpOperand &operand, OpResult result, int64_t dim) {
  bool isActivation = typeOf(operand.get()).getRank() > 1;
  return onlyIf(dim == (isActivation ? axis : 0), typeOf(result).getRank() > 1 ? axis : 0);
}

Followed BatchNormOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return channelOf(getAxis(), operand, result, dim);
}
bool BatchNormOp::dependsOn(OpOperand &operand, OpResult result) {
  return operand.getOperandNumber() == 0 || result == getY();
}
Followed BatchNormGradOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return channelOf(getAxis(), operand, result, dim);
}
/// dbias is a sum of dy, and dscale is a sum of dy * (x - mean) / deviation.
bool BatchNormGradOp::dependsOn(OpOperand &operand, OpResult result) {
  if (result == getDbias())
    return &operand == &getDyMutable();
  return result == getDx() || &operand != &getScaleMutable();
}
Followed BatchNormInferenceOp::followingDim(OpOperand &operand, OpResult, int64_t dim) {
  return operand.getOperandNumber() == 0 ? Followed(dim) : onlyIf(dim == 0, getAxis());
}

/// Scale and bias broadcast to x. The statistics keep the axes with one index.
Followed LayerNormOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return operand.getOperandNumber() == 0 ? onlyIf(!llvm::is_contained(getAxes(), dim), dim)
                                         : alignedDim(operand, result, dim);
}
bool LayerNormOp::dependsOn(OpOperand &operand, OpResult result) {
  return operand.getOperandNumber() == 0 || result == getY();
}
/// dx needs sums over the axes; dscale and dbias are sums over all dimensions that scale and bias broadcast along.
Followed LayerNormGradOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  int64_t inX = dim + typeOf(getX()).getRank() - typeOf(operand.get()).getRank();
  int64_t there = inX - typeOf(getX()).getRank() + typeOf(result).getRank();
  if (result == getDx() && llvm::is_contained(getAxes(), inX))
    return std::nullopt;
  return onlyIf(there >= 0 && shapeOf(operand.get())[dim] == shapeOf(result)[there], there);
}
bool LayerNormGradOp::dependsOn(OpOperand &operand, OpResult result) {
  if (result == getDbias())
    return &operand == &getDyMutable();
  return &operand != &getBiasMutable() && (result == getDx() || &operand != &getScaleMutable());
}

Followed GroupNormOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  if (operand.getOperandNumber() == 0)
    return onlyIf(dim == 0, 0);
  return channelOf(getAxis(), operand, result, dim);
}
bool GroupNormOp::dependsOn(OpOperand &operand, OpResult result) {
  return operand.getOperandNumber() == 0 || result == getY();
}
/// dx needs sums over a group of a sample; dscale and dbias are sums over the samples.
Followed GroupNormGradOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  bool isActivation = &operand == &getXMutable() || &operand == &getDyMutable();
  if (result == getDx())
    return onlyIf(dim == 0 && &operand != &getScaleMutable(), 0);
  return onlyIf(isActivation && dim == int64_t(getAxis()), 0);
}
bool GroupNormGradOp::dependsOn(OpOperand &operand, OpResult result) {
  if (result == getDbias())
    return &operand == &getDyMutable();
  return result == getDx() || &operand != &getScaleMutable();
}

//===-- Attention --------------------------------------------------------------------===//

/// largest and log_sum do not depend on v, and not on what is dropped.
bool AttentionOp::dependsOn(OpOperand &operand, OpResult result) {
  unsigned i = operand.getOperandNumber(), dropout = 3 + (getMask() ? 1 : 0) + (getBias() ? 1 : 0);
  return result == getY() || (i != 2 && i < dropout);
}
/// dv needs neither v nor delta; dbias is made of ds, as dq is.
bool AttentionGradOp::dependsOn(OpOperand &operand, OpResult result) {
  return result != getDv() || (&operand != &getVMutable() && &operand != &getDeltaMutable());
}

/// Samples follow samples; with as many heads of keys as of queries heads follow heads, and queries follow queries in
/// what belongs to queries. A dimension of size 1 that is repeated leads nowhere.
template <typename OpT>
static Followed followed(OpT op, OpOperand &operand, OpResult result, int64_t dim, bool ofQueries) {
  ArrayRef<int64_t> from = shapeOf(operand.get()), to = shapeOf(result);
  if (from.size() != 4 || dim > 2 || from[dim] != to[dim])
    return std::nullopt;
  bool ownHeads = shapeOf(op.getQ())[1] == shapeOf(op.getK())[1];
  bool isKeys = operand.getOperandNumber() == 1 || operand.getOperandNumber() == 2;
  return onlyIf(dim == 0 || (dim == 1 && ownHeads) || (dim == 2 && ofQueries && !isKeys), dim);
}
Followed AttentionOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  return followed(*this, operand, result, dim, /*ofQueries=*/true);
}
Followed AttentionGradOp::followingDim(OpOperand &operand, OpResult result, int64_t dim) {
  // dbias is a sum over the dimensions in which the bias has extent 1; the others are those of the scores.
  return followed(*this, operand, result, dim, /*ofQueries=*/result == getDq() || result == getDbias());
}

//===-- Losses -----------------------------------------------------------------------===//

/// Scores are [N, classes, d...]; labels and the losses of the samples are [N, d...].
template <typename Loss>
static Followed sampleOf(Loss loss, OpOperand &operand, int64_t dim) {
  unsigned position = operand.getOperandNumber();
  if (loss.getReduction() != LossReduction::none || position > 1)
    return std::nullopt;
  return position == 1 ? Followed(dim) : onlyIf(dim != 1, dim == 0 ? 0 : dim - 1);
}
Followed NllLossOp::followingDim(OpOperand &operand, OpResult, int64_t dim) { return sampleOf(*this, operand, dim); }
Followed SoftmaxCrossEntropyOp::followingDim(OpOperand &operand, OpResult, int64_t dim) {
  return sampleOf(*this, operand, dim);
}
