//===- Resize.cpp - elements of interpolation and its transpose -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A coordinate depends only on the index along one axis, so coordinates are tabulated at compile time, for
// each axis, and become read-only arrays of the module. Axes that keep their size and scale need no tables.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

namespace {
/// The elements that result index i along one axis reads: (1-t)*x[lower] + t*x[upper].
struct Taps {
  std::vector<int32_t> lower, upper;
  std::vector<double> t;
};
} // namespace

template <typename OpT>
static Taps tapsOf(OpT op, int64_t axis, int64_t in, int64_t out) {
  Taps taps;
  double scale = op.getScales()[axis], offset = op.getOffsets()[axis], bias = op.getNearestBias().convertToDouble();
  auto clamped = [&](double v) { return int32_t(std::min(std::max(v, 0.0), double(in - 1))); };
  for (int64_t i = 0; i < out; ++i) {
    double x = scale * i + offset, t = 0;
    int32_t lower, upper;
    if (op.getMode() == graph::ResizeMode::nearest) {
      lower = upper = clamped(op.getNearestCeil() ? std::ceil(x + bias) : std::floor(x + bias));
    } else {
      double clampedX = std::min(std::max(x, 0.0), double(in - 1));
      lower = clamped(std::floor(clampedX)), upper = clamped(std::floor(clampedX) + 1);
      t = clampedX - std::floor(clampedX);
    }
    taps.lower.push_back(lower), taps.upper.push_back(upper), taps.t.push_back(t);
  }
  return taps;
}

static bool isIdentity(const Taps &taps, int64_t in) {
  if (int64_t(taps.lower.size()) != in)
    return false;
  for (int64_t i = 0; i < in; ++i)
    if (taps.lower[i] != i || taps.t[i] != 0)
      return false;
  return true;
}

static Index lookupIndex(ElementEmitter &e, ArrayRef<int32_t> table, const Index &at, int64_t high) {
  if (at.isConstant())
    return Index(table[at.constant()]);
  auto type = RankedTensorType::get({int64_t(table.size())}, e.b.getI32Type());
  Value v = e.load(e.constantBuffer(DenseElementsAttr::get(type, table)), at);
  return e.opaque(e.zeroExtend(e.b.getI64Type(), v), 0, high);
}
static Value lookupFloat(ElementEmitter &e, ArrayRef<double> table, const Index &at, Type type) {
  llvm::SmallVector<Attribute> values;
  for (double v : table)
    values.push_back(FloatAttr::get(type, v));
  auto tableType = RankedTensorType::get({int64_t(table.size())}, type);
  return e.load(e.constantBuffer(DenseElementsAttr::get(tableType, values)), at);
}

static Value emit(graph::ResizeOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type element = graph::elementOf(op.getX()), type = ElementEmitter::registerType(element);
  ArrayRef<int64_t> in = graph::shapeOf(op.getX()), out = graph::shapeOf(op.getY());
  // The recursion goes axis by axis; each linear axis doubles the number of elements read.
  std::function<Value(size_t, IndexVector)> interpolate = [&](size_t axis, IndexVector x) -> Value {
    if (axis == in.size())
      return e.operand(op, 0, x);
    Taps taps = tapsOf(op, axis, in[axis], out[axis]);
    if (isIdentity(taps, in[axis]))
      return interpolate(axis + 1, x);
    Index i = x[axis];
    x[axis] = lookupIndex(e, taps.lower, i, in[axis] - 1);
    Value lower = interpolate(axis + 1, x);
    if (llvm::all_of(taps.t, [](double t) { return t == 0; }))
      return lower;
    x[axis] = lookupIndex(e, taps.upper, i, in[axis] - 1);
    Value upper = interpolate(axis + 1, x);
    // Both weights are tabulated, so that 1-t is rounded only once.
    std::vector<double> rest;
    for (double t : taps.t)
      rest.push_back(1 - t);
    Value a = e.mul(lower, lookupFloat(e, rest, i, type));
    Value b = e.mul(upper, lookupFloat(e, taps.t, i, type));
    return e.add(a, b);
  };
  return e.round(interpolate(0, IndexVector(index)), element);
}

/// dx[j] is the sum of weight*dy over the results that read j. Along an axis these are a range of indices,
/// which is tabulated together with the weights as [in, most readers of one input].
static Value emit(graph::ResizeGradOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type element = graph::elementOf(op.getDx()), type = ElementEmitter::registerType(element);
  ArrayRef<int64_t> in = graph::shapeOf(op.getDx()), out = graph::shapeOf(op.getDy());
  std::function<Value(size_t, IndexVector)> gather = [&](size_t axis, IndexVector y) -> Value {
    if (axis == in.size())
      return e.operand(op, 0, y);
    Taps taps = tapsOf(op, axis, in[axis], out[axis]);
    if (isIdentity(taps, in[axis]))
      return gather(axis + 1, y);
    std::vector<std::vector<std::pair<int32_t, double>>> readers(in[axis]);
    size_t most = 1;
    for (int32_t i = 0; i < out[axis]; ++i) {
      bool one = taps.lower[i] == taps.upper[i];
      readers[taps.lower[i]].push_back({i, one ? 1.0 : 1 - taps.t[i]});
      if (!one && taps.t[i] != 0)
        readers[taps.upper[i]].push_back({i, taps.t[i]});
      most = std::max({most, readers[taps.lower[i]].size(), readers[taps.upper[i]].size()});
    }
    std::vector<int32_t> which;
    std::vector<double> weight;
    for (auto &list : readers)
      for (size_t r = 0; r < most; ++r) { // absent readers have weight 0
        which.push_back(r < list.size() ? list[r].first : (list.empty() ? 0 : list.back().first));
        weight.push_back(r < list.size() ? list[r].second : 0);
      }
    Index j = y[axis];
    auto term = [&](Index r) -> Value {
      Index at = j * most + r;
      y[axis] = lookupIndex(e, which, at, out[axis] - 1);
      Value w = lookupFloat(e, weight, at, type), v = gather(axis + 1, y);
      // Where the weight is 0, an infinite cotangent of another element must not become NaN here.
      Value zero = e.constant(type, 0);
      Value counts = e.compare(arith::CmpFPredicate::ONE, w, zero);
      return e.select(counts, e.mul(w, v), zero);
    };
    if (most <= 4) {
      Value sum = term(Index(0));
      for (size_t r = 1; r < most; ++r)
        sum = e.add(sum, term(Index(r)));
      return sum;
    }
    return e.loop(most, e.constant(type, 0), [&](Value iv, ValueRange carried) -> llvm::SmallVector<Value> {
      return {e.add(carried[0], term(e.opaque(iv, 0, most - 1)))};
    })[0];
  };
  return e.round(gather(0, IndexVector(index)), element);
}

void mpc::attachResizeModels(MLIRContext *context) {
  MPC_ATTACH_ELEMENTAL(context, graph::ResizeOp);
  MPC_ATTACH_ELEMENTAL(context, graph::ResizeGradOp);
}
