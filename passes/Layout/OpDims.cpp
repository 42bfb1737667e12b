// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Layout/OpDims.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

//===-- Which dimensions belong together ------------------------------------------===//

static Shape allDims(Value v) { return llvm::to_vector(llvm::seq<int64_t>(0, typeOf(v).getRank())); }

/// The dimensions of a value that broadcasts to the anchor: the last ones are aligned.
static Shape alignedDims(Value v, Value anchor) {
  int64_t rank = typeOf(v).getRank();
  return llvm::map_to_vector(allDims(v), [&](int64_t dim) { return dim + typeOf(anchor).getRank() - rank; });
}

/// All operands broadcast to the result.
static std::optional<OpDims> elementwise(Operation *op) {
  OpDims dims{.anchor = op->getResult(0), .broadcasts = true};
  for (Value v : op->getOperands())
    dims.operands.push_back(alignedDims(v, dims.anchor));
  dims.results = {allDims(dims.anchor)};
  return dims;
}

/// The mask of a dropout depends on the order of its elements, unless it drops whole samples.
static std::optional<OpDims> dropout(DropoutOp op) {
  for (auto [dim, size] : llvm::enumerate(op.getMaskShape()))
    if (dim != 0 && size != 1)
      return std::nullopt;
  std::optional<OpDims> dims = elementwise(op);
  dims->whole = {0};
  dims->samplesFirst = true;
  return dims;
}

SmallVector<int64_t> layout::combinedDims(IndexingOpInterface op) {
  return llvm::filter_to_vector(llvm::seq<int64_t>(0, typeOf(op->getOperand(0)).getRank()), [&](int64_t dim) {
    return !op.followingDim(op->getOpOperand(0), op->getResult(0), dim);
  });
}

std::optional<Layout> layout::layoutOf(Operation *op) {
  auto isLayout = [](StringAttr name) { return name == "layout"; };
  if (!isa_and_nonnull<GraphDialect>(op->getDialect()) || llvm::none_of(op->getName().getAttributeNames(), isLayout))
    return std::nullopt;
  auto layout = op->getAttrOfType<LayoutAttr>("layout");
  return layout ? layout.getValue() : Layout::ChannelsFirst;
}

/// Whether the op gives each dimension of the operand its place in the result, or changes it there.
static bool keepsPlaces(OpOperand &operand, OpResult result) {
  auto op = cast<IndexingOpInterface>(operand.getOwner());
  int64_t rank = typeOf(operand.get()).getRank();
  return rank == typeOf(result).getRank() && llvm::all_of(llvm::seq<int64_t>(0, rank), [&](int64_t dim) {
           return op.followingDim(operand, result, dim).value_or(dim) == dim;
         });
}

/// The result has the dimensions of all operands that it depends on, in their order; those that the op changes may have
/// other sizes, and are not split. The anchor is the larger side, because a dimension may have size 1 on the other
/// side.
static std::optional<OpDims> sameDims(IndexingOpInterface op) {
  LoopKind kind = op.getLoopKind();
  bool canMove =
      kind == LoopKind::View || kind == LoopKind::Movement || kind == LoopKind::Window || kind == LoopKind::Composite;
  if (!canMove || layoutOf(op) || op->getNumResults() != 1)
    return std::nullopt;
  Value x = op->getOperand(0), y = op->getResult(0);
  Value anchor = typeOf(x).getNumElements() > typeOf(y).getNumElements() ? x : y;
  OpDims dims{.anchor = anchor, .results = {allDims(anchor)}, .whole = combinedDims(op)};
  for (OpOperand &operand : op->getOpOperands()) {
    bool isRead = op.dependsOn(operand, op->getResult(0));
    if (isRead && !keepsPlaces(operand, op->getResult(0)))
      return std::nullopt;
    dims.operands.push_back(isRead ? std::optional(allDims(anchor)) : std::nullopt);
    dims.waits |= !isRead;
  }
  return dims;
}

static std::optional<OpDims> reduction(ReductionOpInterface op) {
  Value x = op->getOperand(0);
  OpDims dims{.anchor = x, .operands = {allDims(x)}};
  dims.results = {llvm::filter_to_vector(
      allDims(x), [&](int64_t dim) { return op.getKeepdims() || !llvm::is_contained(op.getAxes(), dim); })};
  return dims;
}

/// Values of a norm with channels that have the activation's shape have its dimensions, and those of one dimension have
/// its channels; others (the statistics of groups) have no say. The values of another norm broadcast to the activation.
static std::optional<OpDims> norm(NormOpInterface op) {
  Value x = op.getX();
  std::optional<int64_t> channels = op.getChannelAxis();
  OpDims dims{.anchor = x, .samplesFirst = op.keepsSamplesFirst(), .broadcasts = !channels};
  auto dimsOfValue = [&](Value v) -> std::optional<Shape> {
    if (!channels)
      return alignedDims(v, x);
    if (typeOf(v).getRank() == 1)
      return Shape{*channels};
    return graph::shapeOf(v) == graph::shapeOf(x) ? std::optional(allDims(x)) : std::nullopt;
  };
  dims.operands = llvm::map_to_vector(op->getOperands(), dimsOfValue);
  dims.results = llvm::map_to_vector(op->getResults(), dimsOfValue);
  if (channels)
    dims.whole.push_back(*channels);
  if (dims.samplesFirst)
    dims.whole.push_back(0);
  return dims;
}

std::optional<OpDims> layout::dimsOf(Operation *op) {
  return TypeSwitch<Operation *, std::optional<OpDims>>(op)
      .Case([](DropoutOp dropped) { return dropout(dropped); })
      .Case([](NormOpInterface n) { return norm(n); })
      .Case([](ReductionOpInterface reduce) { return reduction(reduce); })
      .Case([](IndexingOpInterface other) -> std::optional<OpDims> {
        if (other.drawsNumbers())
          return std::nullopt;
        LoopKind kind = other.getLoopKind();
        return kind == LoopKind::Elementwise || kind == LoopKind::Broadcast ? elementwise(other) : sameDims(other);
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===-- The op in another order ---------------------------------------------------===//

bool OpDims::supports(const Order &order) const {
  ArrayRef<int64_t> shape = graph::shapeOf(anchor);
  ArrayRef<Piece> pieces = order.getPieces();
  if (samplesFirst && pieces.front().dim != 0)
    return false;
  return llvm::all_of(pieces, [&](const Piece &piece) {
    return piece.size == shape[piece.dim] || !llvm::is_contained(whole, piece.dim);
  });
}

/// Calls `fn` for each piece of the anchor's order, with the value's dimension that it belongs to, or -1.
static void forEachPiece(const std::optional<Shape> &dims, const Order &order,
                         function_ref<void(const Piece &, int64_t)> fn) {
  for (const Piece &piece : order.getPieces()) {
    auto it = llvm::find(*dims, piece.dim);
    fn(piece, it == dims->end() ? -1 : it - dims->begin());
  }
}

Order OpDims::orderOf(Value v, const std::optional<Shape> &dims, const Order &order) const {
  ArrayRef<int64_t> shape = graph::shapeOf(v), whole = graph::shapeOf(anchor);
  if (!dims)
    return Order::identity(shape);
  SmallVector<Piece> pieces;
  llvm::SmallBitVector seen(shape.size());
  forEachPiece(dims, order, [&](const Piece &piece, int64_t dim) {
    if (dim < 0)
      return;
    if (shape[dim] == whole[piece.dim] && shape[dim] != 1)
      pieces.push_back({dim, piece.stride, piece.size});
    else if (!seen.test(dim))
      pieces.push_back(
          {dim, 1, shape[dim]}); // of size 1, or of another size than the anchor's, which is not split then
    seen.set(dim);
  });
  return Order(pieces);
}

Shape OpDims::shapeOf(Value v, const std::optional<Shape> &dims, const Order &order) const {
  ArrayRef<int64_t> shape = graph::shapeOf(v), whole = graph::shapeOf(anchor);
  if (!dims || shape.empty())
    return Shape(shape);
  Shape result;
  forEachPiece(dims, order, [&](const Piece &piece, int64_t dim) {
    if (dim >= 0)
      result.push_back(shape[dim] == whole[piece.dim] ? piece.size : shape[dim]);
    else if (broadcasts)
      result.push_back(1);
  });
  return result;
}
