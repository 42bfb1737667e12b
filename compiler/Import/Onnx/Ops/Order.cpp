//===- Order.cpp - the largest elements, in order ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Node.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// Up to so many elements are found by ops that are written out. More are found by a scan, whose program does not grow.
static constexpr int64_t kWrittenOut = 4;
/// A scan holds no other scan, so in a body the ops are written out, up to this number.
static constexpr int64_t kWrittenOutInBody = 64;

static Value integer(Node &n, int64_t value, Type type) {
  return n.constantValue(HostTensor::fromInts(RankedTensorType::get({}, type), {value}));
}

namespace {
/// Integers in the order of a tensor's elements, and one that stands behind all of them.
struct Keys {
  Value keys, last;
};
} // namespace

/// The bits of a float, read as an integer, are in the order of positive floats and in the opposite order of negative
/// ones. Both zeros get the key 0, and NaN comes above all numbers, as in torch and numpy.
static Value floatKeys(Node &n, Value x) {
  const bool wide = elementOf(x).isF64();
  Type integers = wide ? n.b.getI64Type() : n.b.getI32Type();
  Value floats = wide ? x : n.cast(x, n.b.getF32Type());
  Value bits = n.make<BitcastOp>(floats, {}, Type(typeOf(x).clone(integers))).getResult();
  Value lowest = integer(n, wide ? INT64_MIN : INT32_MIN, integers), zero = integer(n, 0, integers);
  Value ordered = n.select(n.compare(Predicate::lt, bits, zero), n.sub(lowest, n.binary<MinOp>(bits, zero)), bits);
  const int64_t infinity = wide ? 0x7ff0'0000'0000'0000 : 0x7f80'0000;
  return n.select(n.make<IsNaNOp>(floats).getResult(), integer(n, infinity + 1, integers), ordered);
}

static Keys keysOf(Node &n, Value x, bool largest) {
  Type type = elementOf(x);
  if (isFloat(type)) {
    Value keys = floatKeys(n, x);
    const bool wide = type.isF64();
    return {keys,
            integer(n, wide ? (largest ? INT64_MIN : INT64_MAX) : (largest ? INT32_MIN : INT32_MAX), elementOf(keys))};
  }
  if (type.getIntOrFloatBitWidth() < 64) { // a wider type has room for another number
    Type wider = type.getIntOrFloatBitWidth() < 32 ? n.b.getI32Type() : n.b.getI64Type();
    const int64_t beyond = int64_t(1) << (wider.isInteger(32) ? 20 : 40);
    return {n.cast(x, wider), integer(n, largest ? -beyond : beyond, wider)};
  }
  // 64-bit integers have no room: the number at the end of their range counts as its neighbour.
  const bool isUnsigned = type.isUnsignedInteger();
  const int64_t low = isUnsigned ? 0 : INT64_MIN, high = isUnsigned ? -1 : INT64_MAX;
  if (!largest)
    return {n.binary<MinOp>(x, integer(n, high - 1, type)), integer(n, high, type)};
  if (!isUnsigned)
    return {n.binary<MaxOp>(x, integer(n, low + 1, type)), integer(n, low, type)};
  return {n.add(n.binary<MinOp>(x, integer(n, high - 1, type)), integer(n, 1, type)), integer(n, low, type)};
}

/// One step: the index of the first extremum of keys [outer, length, inner] as [outer, 1, inner], and the keys without
/// that element.
static std::pair<Value, Value> takeExtremum(Node &n, Keys keys, bool largest) {
  Value index = n.make<ArgMaxOp>(keys.keys, [&](auto &p) {
                   p.axis = n.b.getI64IntegerAttr(1);
                   p.keepdims = n.b.getBoolAttr(true);
                   if (!largest)
                     p.min = n.b.getUnitAttr();
                 }).getY();
  Value positions = n.iota(n.tensorType({1, shapeOf(keys.keys)[1], 1}, n.b.getI64Type()), 1);
  return {index, n.select(n.compare(Predicate::eq, positions, index), keys.last, keys.keys)};
}

/// The indices of the k first elements of rows [outer, length, inner], as [outer, k, inner]. Each step takes the
/// extremum of what is left, so it takes k times the work of an ArgMax, and memory for the keys.
static Value firstIndices(Node &n, Value rows, int64_t k, bool largest) {
  Keys keys = keysOf(n, rows, largest);
  const bool inBody = isa_and_nonnull<ScanOp>(n.b.getInsertionBlock()->getParentOp());
  if (inBody && k > kWrittenOutInBody)
    n.limit("k is " + Twine(k) + "; in the body of a Scan or Loop at most " + Twine(kWrittenOutInBody) +
                " are supported",
            "take the elements before or behind the loop", "k");
  if (k <= kWrittenOut || inBody) {
    SmallVector<Value> indices;
    for (int64_t i = 0; i < k; ++i) {
      auto [index, rest] = takeExtremum(n, keys, largest);
      indices.push_back(index);
      keys.keys = rest;
    }
    if (k == 1)
      return indices[0];
    return n.make<ConcatOp>(indices, [&](auto &p) { p.axis = n.b.getI64IntegerAttr(1); }).getResult();
  }
  const int64_t outer = shapeOf(rows)[0], inner = shapeOf(rows)[2];
  Type slice = n.tensorType({outer, 1, inner}, n.b.getI64Type());
  auto scan = ScanOp::create(n.b, n.loc, k, false, keys.keys, keys.last, ValueRange(), ScanOp::stackType(k, slice));
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(&scan.getBlock());
    auto [index, rest] = takeExtremum(n, {scan.getBlock().getArgument(0), scan.getBlock().getArgument(1)}, largest);
    ScanYieldOp::create(n.b, n.loc, ValueRange{rest, index});
  }
  return n.transpose(n.reshape(scan.getResult(1), {k, outer, inner}), {1, 0, 2});
}

/// TopK: the values are gathered at the indices, so their gradients go to these elements of the input alone. The result
/// is sorted whether that is asked for or not. k is an attribute before opset 10.
static void topK(Node &n) {
  const int64_t axis = n.axis(n.intAttribute("axis", -1), n.rank(0)), length = n.shape(0)[axis];
  const int64_t k = n.opset < 10 ? n.intAttribute("k") : n.constantInt(1, "k");
  const bool largest = n.opset < 11 || n.intAttribute("largest", 1) != 0;
  if (n.opset >= 11)
    n.ignore({"sorted"});
  if (k < 0 || k > length)
    n.fail("k is " + Twine(k) + ", and axis " + Twine(axis) + " has " + Twine(length) + " elements",
           "ask for at most as many elements as there are", "k");
  if (n.element(0).isInteger(1))
    n.fail("booleans have no order", "cast the input to numbers (Cast)");
  Shape shape(n.shape(0));
  shape[axis] = k;
  auto indexType = n.tensorType(shape, n.b.getI64Type());
  if (indexType.getNumElements() == 0) {
    n.out(0, HostTensor::fromInts(indexType.clone(n.element(0)), {}));
    return n.out(1, HostTensor::fromInts(indexType, {}));
  }
  const int64_t outer = llvm::product_of(n.shape(0).take_front(axis)),
                inner = llvm::product_of(n.shape(0).drop_front(axis + 1));
  Value rows = n.reshape(n.in(0), {outer, length, inner});
  Value indices = firstIndices(n, rows, k, largest);
  Value positions = n.mul(indices, n.i64(inner));
  auto along = [&](int64_t axis, int64_t extent, int64_t stride) {
    Shape wide(3, 1);
    wide[axis] = extent;
    if (extent > 1)
      positions = n.add(positions, n.mul(n.iota(n.tensorType(wide, n.b.getI64Type()), axis), n.i64(stride)));
  };
  along(0, outer, length * inner);
  along(2, inner, 1);
  n.out(0, n.reshape(n.gather(n.reshape(rows, {outer * length * inner}), positions, 0), shape));
  n.out(1, n.reshape(indices, shape));
}

OpFamily onnx_import::orderOps() {
  static const OpRow rows[] = {
      {"TopK", 1, kMaxOpset, {1, 10, 2}, 2, "", "constant k; the work grows with k times the length of the axis", topK},
  };
  return {"Order", rows};
}
