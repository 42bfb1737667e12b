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

/// Operands and results have the anchor's dimensions in the anchor's order; those `whole` may have other sizes.
static OpDims sameDims(Operation *op, Value anchor, SmallVector<int64_t> whole) {
  return {.anchor = anchor,
          .operands = SmallVector<std::optional<Shape>>(op->getNumOperands(), allDims(anchor)),
          .results = SmallVector<std::optional<Shape>>(op->getNumResults(), allDims(anchor)),
          .whole = std::move(whole)};
}

/// A movement's anchor is the larger side, because a dimension may have size 1 on the other side.
static std::optional<OpDims> movement(Operation *op, function_ref<bool(int64_t)> isMoved) {
  Value x = op->getOperand(0), y = op->getResult(0);
  Value anchor = typeOf(x).getNumElements() > typeOf(y).getNumElements() ? x : y;
  return sameDims(op, anchor, llvm::filter_to_vector(allDims(y), isMoved));
}

static std::optional<OpDims> reduction(ReductionOpInterface op) {
  Value x = op->getOperand(0);
  OpDims dims{.anchor = x, .operands = {allDims(x)}};
  dims.results = {llvm::filter_to_vector(
      allDims(x), [&](int64_t dim) { return op.getKeepdims() || !llvm::is_contained(op.getAxes(), dim); })};
  return dims;
}

/// Values of the activation's rank have its dimensions, and those of one dimension have its channels. Others (the
/// statistics of groups) have no say.
template <typename Norm>
static std::optional<OpDims> norm(Norm op, bool samplesFirst) {
  int64_t axis = op.getAxis();
  OpDims dims{.anchor = op.getX(), .whole = {axis}, .samplesFirst = samplesFirst};
  auto dimsOfValue = [&](Value v) -> std::optional<Shape> {
    if (typeOf(v).getRank() == 1)
      return Shape{axis};
    return v.getType() == op.getX().getType() || typeOf(v).getShape() == typeOf(op.getX()).getShape()
               ? std::optional(allDims(op.getX()))
               : std::nullopt;
  };
  dims.operands = llvm::map_to_vector(op->getOperands(), dimsOfValue);
  dims.results = llvm::map_to_vector(op->getResults(), dimsOfValue);
  if (samplesFirst)
    dims.whole.push_back(0);
  return dims;
}

/// Everything broadcasts to the activation.
static std::optional<OpDims> layerNorm(Operation *op) {
  OpDims dims{.anchor = op->getOperand(0), .broadcasts = true};
  auto aligned = [&](Value v) -> std::optional<Shape> { return alignedDims(v, dims.anchor); };
  dims.operands = llvm::map_to_vector(op->getOperands(), aligned);
  dims.results = llvm::map_to_vector(op->getResults(), aligned);
  return dims;
}

std::optional<OpDims> layout::dimsOf(Operation *op) {
  return TypeSwitch<Operation *, std::optional<OpDims>>(op)
      .Case([](DropoutOp dropped) { return dropout(dropped); })
      .Case([](RandomOp) { return std::nullopt; })
      .Case([&](BarrierOp barrier) { return sameDims(op, barrier.getY(), {}); })
      .Case([&](BroadcastOp broadcast) { return elementwise(broadcast); })
      .Case<SoftmaxOp, LogSoftmaxOp, ConcatOp>(
          [&](auto along) { return sameDims(op, op->getResult(0), {int64_t(along.getAxis())}); })
      .Case([&](SliceOp slice) {
        return movement(op, [&](int64_t dim) {
          return slice.getStarts()[dim] != 0 || slice.getStrides()[dim] != 1 ||
                 slice.getSizes()[dim] != shapeOf(slice.getX())[dim];
        });
      })
      .Case([&](PadOp pad) {
        return movement(op, [&](int64_t dim) {
          return pad.getLow()[dim] != 0 || pad.getHigh()[dim] != 0 || pad.getInterior()[dim] != 0;
        });
      })
      .Case<ResizeOp, ResizeGradOp>([&](auto resize) {
        return movement(op, [&](int64_t dim) {
          return resize.getScales()[dim] != 1 || resize.getOffsets()[dim] != 0 ||
                 shapeOf(op->getOperand(0))[dim] != shapeOf(op->getResult(0))[dim];
        });
      })
      .Case<BatchNormOp, BatchNormGradOp, BatchNormInferenceOp>([](auto n) { return norm(n, false); })
      .Case<GroupNormOp, GroupNormGradOp>([](auto n) { return norm(n, true); })
      .Case<LayerNormOp, LayerNormGradOp>([](auto n) { return layerNorm(n); })
      .Case([](ReductionOpInterface reduce) { return reduction(reduce); })
      .Default(
          [](Operation *other) { return isOfKind(other, LoopKind::Elementwise) ? elementwise(other) : std::nullopt; });
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

void layout::setAttributes(Operation *made, const OpDims &dims, const Order &order) {
  ArrayRef<Piece> pieces = order.getPieces();
  // The piece that is the whole of a dimension.
  auto place = [&](int64_t dim) {
    return llvm::find_if(pieces, [&](const Piece &piece) { return piece.dim == dim; }) - pieces.begin();
  };
  auto places = [&](ArrayRef<int64_t> axes) {
    Shape result;
    for (auto [i, piece] : llvm::enumerate(pieces))
      if (llvm::is_contained(axes, piece.dim))
        result.push_back(i);
    return result;
  };
  // The entries of an attribute for dimensions that the op changes, and a neutral one for the others.
  auto perPiece = [&](auto list, auto neutral) {
    return llvm::map_to_vector(pieces, [&](const Piece &piece) {
      return llvm::is_contained(dims.whole, piece.dim) ? list[piece.dim] : neutral;
    });
  };
  TypeSwitch<Operation *>(made)
      .Case<SoftmaxOp, LogSoftmaxOp, ConcatOp, BatchNormOp, BatchNormGradOp, BatchNormInferenceOp, GroupNormOp,
            GroupNormGradOp>([&](auto along) { along.setAxis(place(along.getAxis())); })
      .Case([&](DropoutOp dropout) { dropout.setShared(places(dropout.getShared())); })
      .Case<LayerNormOp, LayerNormGradOp>([&](auto norm) { norm.setAxes(places(norm.getAxes())); })
      .Case([&](ReductionOpInterface reduce) {
        made->setAttr("axes", DenseI64ArrayAttr::get(made->getContext(), places(reduce.getAxes())));
      })
      .Case([&](SliceOp slice) {
        Shape sizes = order.stored();
        for (auto [i, piece] : llvm::enumerate(pieces))
          if (llvm::is_contained(dims.whole, piece.dim))
            sizes[i] = slice.getSizes()[piece.dim];
        slice.setStarts(perPiece(slice.getStarts(), int64_t(0)));
        slice.setStrides(perPiece(slice.getStrides(), int64_t(1)));
        slice.setSizes(sizes);
      })
      .Case([&](PadOp pad) {
        pad.setLow(perPiece(pad.getLow(), int64_t(0)));
        pad.setHigh(perPiece(pad.getHigh(), int64_t(0)));
        pad.setInterior(perPiece(pad.getInterior(), int64_t(0)));
      })
      .Case<ResizeOp, ResizeGradOp>([&](auto resize) {
        resize.setScales(perPiece(resize.getScales(), 1.0));
        resize.setOffsets(perPiece(resize.getOffsets(), 0.0));
      });
}
