// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Layout/Order.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

int64_t layout::bytesOf(Value v) {
  return typeOf(v).getNumElements() * llvm::divideCeil(elementOf(v).getIntOrFloatBitWidth(), 8);
}

Shape layout::channelsLast(int64_t rank) {
  Shape p{0};
  for (int64_t i = 2; i < rank; ++i)
    p.push_back(i);
  p.push_back(1);
  return p;
}
Shape layout::inverse(ArrayRef<int64_t> permutation) {
  Shape result(permutation.size());
  for (auto [i, p] : llvm::enumerate(permutation))
    result[p] = i;
  return result;
}

Order::Order(ArrayRef<Piece> list) {
  for (const Piece &piece : list)
    if (!pieces.empty() && pieces.back().dim == piece.dim && pieces.back().stride == piece.stride * piece.size)
      pieces.back() = {piece.dim, piece.stride, piece.size * pieces.back().size};
    else
      pieces.push_back(piece);
}
Order Order::identity(ArrayRef<int64_t> shape) {
  return ofDims(shape, llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
}
Order Order::ofDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return Order(llvm::map_to_vector(dims, [&](int64_t dim) { return Piece{dim, 1, shape[dim]}; }));
}

Shape Order::stored() const {
  return llvm::map_to_vector(pieces, [](const Piece &piece) { return piece.size; });
}

/// The order without the dimensions of size 1, which have no place in memory.
static Order withoutUnits(const Order &order) {
  return Order(llvm::filter_to_vector(order.getPieces(), [](const Piece &piece) { return piece.size != 1; }));
}
bool Order::isViewOf(const Order &other) const { return withoutUnits(*this) == withoutUnits(other); }

Order Order::transposed(ArrayRef<int64_t> permutation) const {
  Shape there = inverse(permutation);
  return Order(llvm::map_to_vector(
      pieces, [&](const Piece &piece) { return Piece{there[piece.dim], piece.stride, piece.size}; }));
}

/// The row-major strides of a shape.
static Shape stridesOf(ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

/// Splits the digit `size` of stride `stride` at all those `cuts` that lie inside, and appends (stride, size) of the
/// parts, the outermost first. The cuts rise. Returns false where a part would not be a digit.
static bool split(int64_t stride, int64_t size, ArrayRef<int64_t> cuts,
                  llvm::function_ref<void(int64_t, int64_t)> part) {
  int64_t end = stride * size;
  for (int64_t cut : llvm::reverse(cuts)) {
    if (cut <= stride || cut >= end)
      continue;
    if (end % cut != 0 || cut % stride != 0)
      return false;
    part(cut, end / cut);
    end = cut;
  }
  part(stride, end / stride);
  return true;
}

std::optional<Order> Order::reshaped(ArrayRef<int64_t> from, ArrayRef<int64_t> to) const {
  if (llvm::product_of(from) == 0)
    return std::nullopt;
  Shape fromStrides = stridesOf(from), toStrides = stridesOf(to);
  // The non-unit dimensions of `to`, the innermost first: strides rise.
  SmallVector<int64_t> dims, cuts;
  for (int64_t dim = int64_t(to.size()) - 1; dim >= 0; --dim)
    if (to[dim] != 1) {
      dims.push_back(dim);
      cuts.push_back(toStrides[dim]);
    }
  SmallVector<Piece> result;
  bool fits = true;
  for (const Piece &piece : pieces) {
    if (piece.size == 1)
      continue;
    fits &= split(piece.stride * fromStrides[piece.dim], piece.size, cuts, [&](int64_t stride, int64_t size) {
      // The dimension with the largest stride that is not above this one.
      int64_t dim = dims[llvm::upper_bound(cuts, stride) - cuts.begin() - 1];
      fits &= stride % toStrides[dim] == 0;
      result.push_back({dim, stride / toStrides[dim], size});
    });
    if (!fits)
      return std::nullopt;
  }
  // A unit dimension comes behind the one before it.
  for (int64_t dim = 0; dim < int64_t(to.size()); ++dim) {
    if (to[dim] != 1)
      continue;
    auto place = result.begin();
    for (auto it = result.begin(); it != result.end(); ++it)
      if (it->dim == dim - 1)
        place = std::next(it);
    result.insert(place, {dim, 1, 1});
  }
  return Order(result);
}

/// The pieces of an order, split at the strides where a piece of the other order begins; nullopt where
/// that is impossible.
static std::optional<SmallVector<Piece>> refined(const Order &order, const Order &other) {
  SmallVector<Piece> result;
  for (const Piece &piece : order.getPieces()) {
    SmallVector<int64_t> cuts;
    for (const Piece &there : other.getPieces())
      if (there.dim == piece.dim)
        cuts.push_back(there.stride);
    llvm::sort(cuts);
    if (!split(piece.stride, piece.size, cuts,
               [&](int64_t stride, int64_t size) { result.push_back({piece.dim, stride, size}); }))
      return std::nullopt;
  }
  return result;
}

static SplatElementsAttr splatOf(Value x) {
  auto constant = x.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
}

/// Makes the transpose, or something that costs less: a value that x is a transpose of, an iota, or a broadcast of the
/// transpose of a smaller tensor.
static Value transposed(OpBuilder &b, Location loc, Value x, Shape permutation) {
  while (auto inner = x.getDefiningOp<TransposeOp>()) {
    permutation = inOrder(inner.getPermutation(), permutation);
    x = inner.getX();
  }
  Shape shape = inOrder(shapeOf(x), permutation);
  if (Order::ofDims(shapeOf(x), permutation).isViewOf(Order::identity(shapeOf(x))))
    return reshapeTo(b, loc, x, shape);
  if (auto iota = x.getDefiningOp<IotaOp>())
    return IotaOp::create(b, loc, typeOf(x).clone(shape), inverse(permutation)[iota.getAxis()]);
  if (auto broadcast = x.getDefiningOp<BroadcastOp>()) {
    Shape padded(typeOf(x).getRank() - typeOf(broadcast.getX()).getRank(), 1);
    llvm::append_range(padded, shapeOf(broadcast.getX()));
    return broadcastTo(b, loc, transposed(b, loc, reshapeTo(b, loc, broadcast.getX(), padded), permutation), shape);
  }
  return TransposeOp::create(b, loc, x, permutation);
}

Value layout::converted(OpBuilder &b, Location loc, Value x, const Order &from, const Order &to,
                        ArrayRef<int64_t> shape) {
  if (from == to)
    return x;
  if (SplatElementsAttr splat = splatOf(x))
    return ConstantOp::create(b, loc, splat.resizeSplat(typeOf(x).clone(to.stored())));
  if (from.isViewOf(to))
    return reshapeTo(b, loc, x, to.stored());
  std::optional<SmallVector<Piece>> source = refined(from, to), target = refined(to, from);
  if (!source || !target) {
    Order plain = Order::identity(shape);
    return converted(b, loc, converted(b, loc, x, from, plain, shape), plain, to, shape);
  }
  Shape split = llvm::map_to_vector(*source, [](const Piece &piece) { return piece.size; });
  Shape permutation = llvm::map_to_vector(
      *target, [&](const Piece &piece) { return int64_t(llvm::find(*source, piece) - source->begin()); });
  return reshapeTo(b, loc, ::transposed(b, loc, reshapeTo(b, loc, x, split), permutation), to.stored());
}
