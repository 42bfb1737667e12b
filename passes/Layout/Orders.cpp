#include "passes/Layout/Orders.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::layout;

Shape layout::toLast(int64_t rank) {
  Shape p{0};
  for (int64_t i = 2; i < rank; ++i)
    p.push_back(i);
  p.push_back(1);
  return p;
}
Shape layout::toFirst(int64_t rank) {
  Shape p{0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i)
    p.push_back(i);
  return p;
}

static RankedTensorType permutedType(RankedTensorType type, ArrayRef<int64_t> permutation) {
  Shape shape;
  for (int64_t i : permutation)
    shape.push_back(type.getDimSize(i));
  return type.clone(shape);
}
RankedTensorType layout::lastType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return permutedType(tensor, toLast(tensor.getRank()));
}

/// Returns whether the permutation keeps the order of all dimensions that have more than one element.
static bool movesUnitDimensions(ArrayRef<int64_t> shape, ArrayRef<int64_t> permutation) {
  int64_t before = -1;
  for (int64_t i : permutation) {
    if (shape[i] == 1)
      continue;
    if (i < before)
      return false;
    before = i;
  }
  return true;
}

/// The value that x is a transpose of (or transposes of transposes), and the permutation that these and
/// `permutation` make together.
static std::pair<Value, Shape> behindTransposes(Value x, ArrayRef<int64_t> permutation) {
  Shape total(permutation);
  while (auto inner = x.getDefiningOp<TransposeOp>()) {
    for (int64_t &i : total)
      i = inner.getPermutation()[i];
    x = inner.getX();
  }
  return {x, total};
}

/// A view of rank r of a value that broadcasts to r dimensions.
static Value padRank(OpBuilder &b, Location loc, Value x, int64_t rank) {
  Shape padded(rank - typeOf(x).getRank(), 1);
  llvm::append_range(padded, shapeOf(x));
  return reshapeTo(b, loc, x, padded);
}

static bool isSplat(Value x) {
  auto constant = x.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return dense && dense.isSplat();
}

Value layout::transposed(OpBuilder &b, Location loc, Value x, ArrayRef<int64_t> permutation) {
  auto [source, total] = behindTransposes(x, permutation);
  RankedTensorType type = permutedType(typeOf(source), total);
  if (movesUnitDimensions(shapeOf(source), total)) {
    while (auto view = source.getDefiningOp<ReshapeOp>())
      source = view.getX();
    return reshapeTo(b, loc, source, type.getShape());
  }
  if (isSplat(source))
    return ConstantOp::create(b, loc, cast<DenseElementsAttr>(source.getDefiningOp<ConstantOp>().getValue()).resizeSplat(type));
  if (auto iota = source.getDefiningOp<IotaOp>())
    return IotaOp::create(b, loc, type, llvm::find(total, int64_t(iota.getAxis())) - total.begin());
  if (auto broadcast = source.getDefiningOp<BroadcastOp>())
    return broadcastTo(b, loc, transposed(b, loc, padRank(b, loc, broadcast.getX(), type.getRank()), total), type.getShape());
  return TransposeOp::create(b, loc, source, total);
}

Value Orders::first(Value v) {
  Forms &known = forms[v];
  if (!known.last && !known.first)
    return v;
  if (!known.first) {
    OpBuilder b(v.getContext());
    b.setInsertionPointAfterValue(known.last);
    known.first = transposed(b, known.last.getLoc(), known.last, toFirst(typeOf(known.last).getRank()));
  }
  return known.first;
}

Value Orders::last(Value v) {
  if (Value known = forms[v].last)
    return known;
  Value own = first(v);
  OpBuilder b(v.getContext());
  b.setInsertionPointAfterValue(own);
  return forms[v].last = transposed(b, own.getLoc(), own, toLast(typeOf(own).getRank()));
}

bool Orders::hasLast(Value v) {
  if (forms.lookup(v).last)
    return true;
  Value own = first(v);
  auto [source, total] = behindTransposes(own, toLast(typeOf(own).getRank()));
  return source != own && movesUnitDimensions(shapeOf(source), total);
}
