//===- Permuted.cpp - ops for tensors whose dimensions come in another order -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op that is not elementwise answers here IndexingOpInterface::permuted: it changes those of its attributes that
// name dimensions, or says that it has no such form.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Reductions.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

using Order = ArrayRef<int64_t>;

/// The place of an old dimension, which is not split.
static int64_t placeOf(int64_t dim, Order order) {
  assert(llvm::count(order, dim) == 1 && "a dimension that an attribute names as one axis is not split");
  return llvm::find(order, dim) - order.begin();
}
/// The places of old dimensions, and of all parts of those that are split, ascending.
static Shape placesOf(ArrayRef<int64_t> dims, Order order) {
  Shape places;
  for (auto [place, dim] : llvm::enumerate(order))
    if (llvm::is_contained(dims, dim))
      places.push_back(place);
  return places;
}
/// One value for each dimension, in the new order. All parts of a split dimension, which the op does not change, have
/// its value.
template <typename T>
static SmallVector<T> reordered(ArrayRef<T> values, Order order) {
  return llvm::map_to_vector(order, [&](int64_t dim) { return values[dim]; });
}
template <typename OpT>
static OpT rebuild(OpBuilder &b, OpT op, Order order, ValueRange operands) {
  return cast<OpT>(rebuildPermuted(b, op, order, operands));
}

//===-- One axis -----------------------------------------------------------------------===//

template <typename OpT>
static Operation *alongAxis(OpBuilder &b, OpT op, Order order, ValueRange operands) {
  OpT made = rebuild(b, op, order, operands);
  made.setAxis(placeOf(op.getAxis(), order));
  return made;
}
#define ALONG_AXIS(OP)                                                                                                 \
  Operation *OP::permuted(OpBuilder &b, Order order, ValueRange operands) {                                            \
    return alongAxis(b, *this, order, operands);                                                                       \
  }
ALONG_AXIS(ConcatOp)
ALONG_AXIS(SoftmaxOp)
ALONG_AXIS(LogSoftmaxOp)
#undef ALONG_AXIS

#define NORM(OP)                                                                                                       \
  Operation *OP::permuted(OpBuilder &b, Order order, ValueRange operands) {                                            \
    return keepsSamplesFirst() && order[0] != 0 ? nullptr : alongAxis(b, *this, order, operands);                      \
  }
NORM(BatchNormOp)
NORM(BatchNormGradOp)
NORM(BatchNormInferenceOp)
NORM(GroupNormOp)
NORM(GroupNormGradOp)
#undef NORM

//===-- Several axes -------------------------------------------------------------------===//

Operation *LayerNormOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  LayerNormOp made = rebuild(b, *this, order, operands);
  made.setAxes(placesOf(getAxes(), order));
  return made;
}
/// The cotangents of scale and bias have the types of these.
Operation *LayerNormGradOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  LayerNormGradOp made = rebuild(b, *this, order, operands);
  made.setAxes(placesOf(getAxes(), order));
  made.getDscale().setType(cast<RankedTensorType>(made.getScale().getType()));
  made.getDbias().setType(cast<RankedTensorType>(made.getBias().getType()));
  return made;
}

Operation *mpc::graph::permutedReduction(ReductionOpInterface op, OpBuilder &b, Order order, ValueRange operands) {
  Operation *made = op.over(b, operands[0], placesOf(op.getAxes(), order), op.getKeepdims()).getDefiningOp();
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return made;
}
Operation *ArgMaxOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  return ArgMaxOp::create(b, getLoc(), operands[0], placeOf(getAxis(), order), getKeepdims(), getMin(), getLast());
}

/// A mask has the order of the elements that have a number of their own; these must stay in their order.
Operation *DropoutOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  Shape mask = getMaskShape();
  int64_t last = -1;
  for (int64_t dim : order) {
    if (mask[dim] == 1)
      continue;
    if (dim <= last)
      return nullptr;
    last = dim;
  }
  DropoutOp made = rebuild(b, *this, order, operands);
  made.setShared(placesOf(getShared(), order));
  return made;
}

//===-- A value for each dimension -----------------------------------------------------===//

Operation *SliceOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  SliceOp made = rebuild(b, *this, order, operands);
  made.setStarts(reordered(getStarts(), order));
  Shape sizes = reordered(getSizes(), order);
  for (auto [place, dim] : llvm::enumerate(order))
    if (llvm::count(order, dim) > 1)
      sizes[place] = shapeOf(operands[0])[place];
  made.setSizes(sizes);
  made.setStrides(reordered(getStrides(), order));
  return made;
}
Operation *PadOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  PadOp made = rebuild(b, *this, order, operands);
  made.setLow(reordered(getLow(), order));
  made.setHigh(reordered(getHigh(), order));
  made.setInterior(reordered(getInterior(), order));
  return made;
}
template <typename OpT>
static Operation *resized(OpBuilder &b, OpT op, Order order, ValueRange operands) {
  OpT made = rebuild(b, op, order, operands);
  made.setScales(reordered(op.getScales(), order));
  made.setOffsets(reordered(op.getOffsets(), order));
  return made;
}
Operation *ResizeOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  return resized(b, *this, order, operands);
}
Operation *ResizeGradOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  return resized(b, *this, order, operands);
}

Operation *BarrierOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  return rebuildPermuted(b, *this, order, operands);
}
Operation *BroadcastOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  int64_t rank = typeOf(operands[0]).getRank();
  return rank == 0 || rank == int64_t(order.size()) ? rebuildPermuted(b, *this, order, operands) : nullptr;
}
/// Dimension i of the result was dimension order[i], which is dimension permutation[order[i]] of the operand; that has
/// another place now.
Operation *TransposeOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  TransposeOp made = rebuild(b, *this, order, operands);
  made.setPermutation(llvm::map_to_vector(order, [&](int64_t dim) { return placeOf(getPermutation()[dim], order); }));
  return made;
}

//===-- Windows ------------------------------------------------------------------------===//

/// The layout of activations that were in `from` before they were permuted; nullopt where that is no layout.
static std::optional<Layout> layoutAfter(Layout from, Order order) {
  Layout to = from == Layout::ChannelsFirst ? Layout::ChannelsLast : Layout::ChannelsFirst;
  int64_t rank = order.size(), oldChannels = channelAxis(from, rank), newChannels = channelAxis(to, rank);
  Shape moved = llvm::to_vector(llvm::seq<int64_t>(rank));
  if (Order(moved) == order)
    return from;
  moved.erase(moved.begin() + oldChannels);
  moved.insert(moved.begin() + newChannels, oldChannels);
  return Order(moved) == order ? std::optional(to) : std::nullopt;
}
template <typename OpT>
static Operation *inLayout(OpBuilder &b, OpT op, Order order, ValueRange operands) {
  std::optional<Layout> layout = layoutAfter(op.getLayout(), order);
  if (!layout)
    return nullptr;
  OpT made = rebuild(b, op, order, operands);
  made.setLayout(*layout);
  return made;
}
#define IN_LAYOUT(OP)                                                                                                  \
  Operation *OP::permuted(OpBuilder &b, Order order, ValueRange operands) {                                            \
    return inLayout(b, *this, order, operands);                                                                        \
  }
IN_LAYOUT(MaxPoolOp)
IN_LAYOUT(MaxPoolGradOp)
IN_LAYOUT(AvgPoolOp)
IN_LAYOUT(AvgPoolGradOp)
IN_LAYOUT(ConvOp)
IN_LAYOUT(ConvInputGradOp)
#undef IN_LAYOUT
/// The weights stay.
Operation *ConvWeightGradOp::permuted(OpBuilder &b, Order order, ValueRange operands) {
  Operation *made = inLayout(b, *this, order, operands);
  if (made)
    made->getResult(0).setType(getType());
  return made;
}

//===-- Ops that have no such form -------------------------------------------------------===//

#define FIXED(OP)                                                                                                      \
  Operation *OP::permuted(OpBuilder &, Order, ValueRange) { return nullptr; }
FIXED(ReshapeOp)
FIXED(GatherOp)
FIXED(ScatterOp)
FIXED(MatMulOp)
FIXED(AttentionOp)
FIXED(AttentionGradOp)
FIXED(DepthwiseConvOp)
FIXED(DepthwiseInputGradOp)
FIXED(NllLossOp)
FIXED(SoftmaxCrossEntropyOp)
FIXED(ScanOp)
#undef FIXED
