//===- Order.cpp - the largest elements, in order ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// There are three ways to find the k first of n elements, and the cheapest is taken:
// - step by step: each step takes the extremum of what is left, which is k * n comparisons, one step after another;
// - by ranks: an element's place is the number of elements before it, which is n * n comparisons, all at once;
// - by a threshold: the k-th key is found bit by bit, the elements that reach it are moved together, and their ranks
//   are their places; this takes about 200 n + k * k operations.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Onnx/Ops/Order.h"
#include "compiler/Import/Onnx/Counted.h"
#include "compiler/Import/Onnx/Ops/Places.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

/// Up to so many steps are written out. More are a scan, whose program does not grow.
static constexpr int64_t kWrittenOut = 4;
/// A scan holds no other scan, so in a body the steps are written out, up to this number.
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
  Value positions = n.numbersAlong(3, 1, shapeOf(keys.keys)[1]);
  return {index, n.select(n.compare(Predicate::eq, positions, index), keys.last, keys.keys)};
}

/// Goes step by step and returns the indices of the k first elements of keys [outer, length, inner], as [outer, k,
/// inner].
static Value stepByStep(Node &n, Keys keys, int64_t k, bool largest, bool inBody) {
  if (k <= kWrittenOut || inBody) {
    SmallVector<Value> indices;
    for (int64_t i = 0; i < k; ++i) {
      auto [index, rest] = takeExtremum(n, keys, largest);
      indices.push_back(index);
      keys.keys = rest;
    }
    return n.concat(indices, 1);
  }
  const int64_t outer = shapeOf(keys.keys)[0], inner = shapeOf(keys.keys)[2];
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

/// Puts values [outer, length, inner] at `places` along the middle dimension, of which there are `extent`. Places that
/// nothing is put at are 0; values that belong nowhere have the place `extent`.
static Value putAt(Node &n, Value values, Value places, int64_t extent) {
  const int64_t outer = shapeOf(values)[0], length = shapeOf(values)[1], inner = shapeOf(values)[2];
  Value flat = n.add(n.mul(n.add(n.mul(n.numbersAlong(3, 0, outer), n.i64(extent + 1)), places), n.i64(inner)),
                     n.numbersAlong(3, 2, inner));
  const int64_t elements = outer * length * inner;
  Value y = n.make<ScatterOp>(
                 ValueRange{n.reshape(values, {elements}), n.reshape(flat, {elements})},
                 [&](auto &p) { p.axis = n.b.getI64IntegerAttr(0); },
                 Type(n.tensorType({outer * (extent + 1) * inner}, elementOf(values))))
                .getY();
  return n.slice(n.reshape(y, {outer, extent + 1, inner}), {0, 0, 0}, {outer, extent, inner}, {1, 1, 1});
}

/// Returns the number of elements before each one of keys [outer, length, inner]: larger ones (or smaller ones), and
/// equal ones that come first.
static Value ranksOf(Node &n, Value keys, bool largest) {
  const int64_t outer = shapeOf(keys)[0], length = shapeOf(keys)[1], inner = shapeOf(keys)[2];
  const Predicate before = largest ? Predicate::gt : Predicate::lt;
  Value numbers = n.numbersAlong(3, 1, length);
  auto rows = [&](Value x) { return n.reshape(x, {shapeOf(x)[0], 1, length, shapeOf(x)[2]}); };
  auto columns = [&](Value x) { return n.reshape(x, {shapeOf(x)[0], length, 1, shapeOf(x)[2]}); };
  Value isBefore;
  if (elementOf(keys).isInteger(32)) { // keys and numbers fit in 64 bits together
    Value wide = n.mul(n.cast(keys, n.b.getI64Type()), n.i64(int64_t(1) << 32));
    Value unique = n.add(wide, largest ? n.sub(n.i64(length - 1), numbers) : numbers);
    isBefore = n.compare(before, rows(unique), columns(unique));
  } else {
    Value same = n.compare(Predicate::eq, rows(keys), columns(keys));
    Value first = n.compare(Predicate::lt, rows(numbers), columns(numbers));
    isBefore = n.binary<OrOp>(n.compare(before, rows(keys), columns(keys)), n.binary<AndOp>(same, first));
  }
  Value ranks = n.reduce<ReduceSumOp>(n.cast(isBefore, n.b.getI32Type()), {2}, false);
  return n.cast(n.reshape(ranks, {outer, length, inner}), n.b.getI64Type());
}

/// Goes by ranks, which is also the second half of the way by a threshold: `numbers` are the elements' indices.
static Value byRanks(Node &n, Value keys, Value numbers, int64_t k, bool largest) {
  const int64_t length = shapeOf(keys)[1];
  Value ranks = inParts(n, shapeOf(keys)[0], length * length * shapeOf(keys)[2],
                        [&](int64_t from, int64_t count) { return ranksOf(n, rowsOf(n, keys, from, count), largest); });
  Value places = n.binary<MinOp>(ranks, n.i64(k));
  return putAt(n, n.broadcast(numbers, shapeOf(keys)), places, k);
}

/// Returns the k-th key of each row of keys that are not negative, [outer, 1, inner]: the largest number that k keys
/// reach.
static Value thresholdOf(Node &n, Value keys, int64_t k, int64_t bits) {
  const Shape row = {shapeOf(keys)[0], 1, shapeOf(keys)[2]};
  Type i64 = n.b.getI64Type();
  std::vector<int64_t> powers;
  for (int64_t bit = bits - 1; bit >= 0; --bit)
    powers.push_back(int64_t(1) << bit);
  Value stack = n.constantValue(HostTensor::fromInts(RankedTensorType::get({bits}, i64), powers));
  Value zero = n.broadcast(n.i64(0), row);
  auto scan = ScanOp::create(n.b, n.loc, bits, false, zero, ValueRange{keys}, ValueRange{stack}, TypeRange());
  OpBuilder::InsertionGuard guard(n.b);
  n.b.setInsertionPointToEnd(&scan.getBlock());
  Value best = scan.getBlock().getArgument(0), all = scan.getBlock().getArgument(1),
        power = n.reshape(scan.getBlock().getArgument(2), {});
  Value next = n.add(best, power);
  Value reach = n.reduce<ReduceSumOp>(n.cast(n.compare(Predicate::ge, all, next), i64), {1}, true);
  ScanYieldOp::create(n.b, n.loc, ValueRange{n.select(n.compare(Predicate::ge, reach, n.i64(k)), next, best)});
  return scan.getResult(0);
}

/// Goes by a threshold, for keys of 32 bits.
static Value byThreshold(Node &n, Value keys, int64_t k, bool largest) {
  const int64_t length = shapeOf(keys)[1];
  Value wide = n.cast(keys, n.b.getI64Type());
  constexpr int64_t kBias = int64_t(1) << 31;
  Value high = largest ? n.add(wide, n.i64(kBias)) : n.sub(n.i64(kBias - 1), wide); // the first are the largest now
  Value threshold = thresholdOf(n, high, k, 32);
  Value above = n.compare(Predicate::gt, high, threshold), equal = n.compare(Predicate::eq, high, threshold);
  auto ones = [&](Value mask) { return n.cast(mask, n.b.getI64Type()); };
  Value wanted = n.sub(n.i64(k), n.reduce<ReduceSumOp>(ones(above), {1}, true));
  Value among = n.compare(Predicate::lt, runningSums(n, ones(equal), /*exclusive=*/true, false), wanted);
  Value taken = n.binary<OrOp>(above, n.binary<AndOp>(equal, among));
  Value places = n.select(taken, runningSums(n, ones(taken), /*exclusive=*/true, false), n.i64(k));
  Value numbers = n.broadcast(n.numbersAlong(3, 1, length), shapeOf(keys));
  return byRanks(n, putAt(n, keys, places, k), putAt(n, numbers, places, k), k, largest);
}

Value onnx_import::firstIndices(Node &n, Value rows, int64_t k, bool largest) {
  Keys keys = keysOf(n, rows, largest);
  const bool inBody = isa_and_nonnull<ScanOp>(n.b.getInsertionBlock()->getParentOp());
  const double count = double(shapeOf(rows)[0] * shapeOf(rows)[2]), length = double(shapeOf(rows)[1]);
  constexpr double kLaunch = 3e4; // starting a dispatch costs as much as so many elements of it
  const double steps = inBody && k > kWrittenOutInBody ? HUGE_VAL : double(k) * (count * length + kLaunch);
  const bool allPairs = length * length <= double(kMaxElements), narrow = elementOf(keys.keys).isInteger(32);
  const double ranks = allPairs ? count * length * length / 4 + 2 * kLaunch : HUGE_VAL;
  const double threshold = inBody || !narrow || double(k) * double(k) > double(kMaxElements)
                               ? HUGE_VAL
                               : count * (200 * length + double(k) * double(k) / 4) + 40 * kLaunch;
  if (k <= kWrittenOut || steps <= std::min(ranks, threshold))
    return stepByStep(n, keys, k, largest, inBody);
  if (threshold < ranks)
    return byThreshold(n, keys.keys, k, largest);
  Value numbers = n.numbersAlong(3, 1, shapeOf(rows)[1]);
  return byRanks(n, keys.keys, numbers, k, largest);
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
    if (extent > 1)
      positions = n.add(positions, n.mul(n.numbersAlong(3, axis, extent), n.i64(stride)));
  };
  along(0, outer, length * inner);
  along(2, inner, 1);
  n.out(0, n.reshape(n.gather(n.reshape(rows, {outer * length * inner}), positions, 0), shape));
  n.out(1, n.reshape(indices, shape));
}

OpFamily onnx_import::orderOps() {
  static const OpRow rows[] = {
      {"TopK", 1, kMaxOpset, {1, 10, 2}, 2, "", "constant k", topK},
  };
  return {"Order", rows};
}
