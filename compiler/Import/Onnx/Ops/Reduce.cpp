//===- Reduce.cpp - reductions -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Import/Onnx/Counted.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::onnx_import;

namespace {
struct Reduction {
  Value x;
  Shape axes;
  bool keepdims;
  bool nothing = false; // the reduction does nothing: noop_with_empty_axes and no axes
};
} // namespace

/// Reads the axes: an attribute, or an input since opset `asInput`. No axes stand for all axes, or with
/// noop_with_empty_axes for none.
static Reduction reduction(Node &n, int64_t asInput) {
  Reduction r{n.in(0), {}, n.intAttribute("keepdims", 1) != 0};
  std::optional<Shape> axes;
  bool noop = false;
  if (n.opset >= asInput) {
    noop = n.intAttribute("noop_with_empty_axes", 0) != 0;
    if (n.has(1))
      axes = n.constantInts(1, "axes");
  } else {
    axes = n.intsAttribute("axes");
  }
  int64_t rank = n.rank(0);
  if (axes && !axes->empty()) {
    r.axes = n.axes(*axes, rank);
  } else if (noop) {
    r.nothing = true;
  } else {
    for (int64_t i = 0; i < rank; ++i)
      r.axes.push_back(i);
  }
  return r;
}

template <typename OpT>
static Value apply(Node &n, const Reduction &r, Value x) {
  return r.axes.empty() ? x : n.reduce<OpT>(x, r.axes, r.keepdims);
}

/// ReduceSum has its axes as an input since opset 13, the other reductions since 18.
template <typename OpT, int64_t asInput = 18>
static void plain(Node &n) {
  Reduction r = reduction(n, asInput);
  if (r.nothing)
    return n.forward(0, 0);
  if (elementOf(r.x).isInteger(1)) { // reductions of booleans exist since opset 20
    if constexpr (std::is_same_v<OpT, ReduceMaxOp>)
      return n.out(0, apply<ReduceAnyOp>(n, r, r.x));
    if constexpr (std::is_same_v<OpT, ReduceMinOp>)
      return n.out(0, n.unary<NotOp>(apply<ReduceAnyOp>(n, r, n.unary<NotOp>(r.x))));
  }
  n.out(0, apply<OpT>(n, r, r.x));
}

static void l1(Node &n) {
  Reduction r = reduction(n, 18);
  n.out(0, apply<ReduceSumOp>(n, r, n.unary<AbsOp>(r.x)));
}
static void sumSquare(Node &n) {
  Reduction r = reduction(n, 18);
  // This is a power and not a product, so that autocast knows that squares need the range of fp32.
  Value squares = isFloat(r.x) ? n.binary<PowOp>(r.x, n.number(2, r.x)) : n.mul(r.x, r.x);
  n.out(0, apply<ReduceSumOp>(n, r, squares));
}
static void l2(Node &n) {
  Reduction r = reduction(n, 18);
  Type element = elementOf(r.x);
  Value x = isFloat(element) ? r.x : n.cast(r.x, n.b.getF64Type());
  n.out(0, n.cast(r.axes.empty() ? n.unary<AbsOp>(x) : n.reduce<ReduceL2Op>(x, r.axes, r.keepdims), element));
}
static void logSum(Node &n) {
  Reduction r = reduction(n, 18);
  Type element = elementOf(r.x);
  Value x = isFloat(element) ? r.x : n.cast(r.x, n.b.getF64Type());
  n.out(0, n.cast(n.unary<LogOp>(apply<ReduceSumOp>(n, r, x)), element));
}

/// log(sum e^x) = m + log(sum e^(x - m)), with m near the maximum, or 0 where that is infinite. The equation
/// holds for any m, so m needs no gradient: the two gradients that would meet at the maximum cancel except
/// for their roundings, which in 16 bits are as large as the gradient. m is computed through floor, whose
/// gradient is zero.
static void logSumExp(Node &n) {
  Reduction r = reduction(n, 18);
  Type element = elementOf(r.x);
  Value x = isFloat(element) ? r.x : n.cast(r.x, n.b.getF64Type());
  if (r.axes.empty()) {
    n.out(0, n.cast(n.unary<LogOp>(n.unary<ExpOp>(x)), element));
    return;
  }
  bool empty = llvm::any_of(r.axes, [&](int64_t a) { return n.shape(0)[a] == 0; });
  if (empty) { // no elements have no maximum
    n.out(0, n.cast(n.unary<LogOp>(apply<ReduceSumOp>(n, r, n.unary<ExpOp>(x))), element));
    return;
  }
  Value peak = n.reduce<ReduceMaxOp>(x, r.axes, true);
  peak = n.unary<FloorOp>(n.select(n.make<IsNonFiniteOp>(peak).getY(), n.number(0, x), peak));
  Value total = n.sum(n.unary<ExpOp>(n.sub(x, peak)), r.axes);
  Value y = n.add(n.unary<LogOp>(total), peak);
  n.out(0, n.cast(n.reshape(y, reducedShape(shapeOf(x), r.axes, r.keepdims)), element));
}

template <bool min>
static void arg(Node &n) {
  int64_t axis = n.axis(n.intAttribute("axis", 0), n.rank(0));
  bool keepdims = n.intAttribute("keepdims", 1) != 0;
  bool last = n.opset >= 12 && n.intAttribute("select_last_index", 0) != 0;
  n.out(0, n.make<ArgMaxOp>(n.in(0), [&](auto &p) {
              p.axis = n.b.getI64IntegerAttr(axis);
              p.keepdims = n.b.getBoolAttr(keepdims);
              if (min)
                p.min = n.b.getUnitAttr();
              if (last)
                p.last = n.b.getUnitAttr();
            }).getY());
}

/// The sums or products of x [outer, length, inner] up to each element of the middle dimension, each of a masked row.
template <typename OpT, int neutral>
static Value maskedRows(Node &n, Value x, bool exclusive, bool reverse) {
  ArrayRef<int64_t> shape = shapeOf(x);
  // x[o, j, k] is read as [o, 1, j, k] and reduced over j where j <= i.
  auto index = n.tensorType({1, shape[1], shape[1], 1}, n.b.getI64Type());
  Predicate predicate =
      exclusive ? (reverse ? Predicate::gt : Predicate::lt) : (reverse ? Predicate::ge : Predicate::le);
  Value keep = n.compare(predicate, n.iota(index, 2), n.iota(index, 1));
  Value rows = n.reshape(x, {shape[0], 1, shape[1], shape[2]});
  return n.reduce<OpT>(n.select(keep, rows, n.number(neutral, x)), {2}, false);
}

Value onnx_import::runningSums(Node &n, Value x, bool exclusive, bool reverse) {
  constexpr int64_t kBlock = 64;
  const int64_t outer = shapeOf(x)[0], length = shapeOf(x)[1], inner = shapeOf(x)[2];
  if (length <= 2 * kBlock)
    return maskedRows<ReduceSumOp, 0>(n, x, exclusive, reverse);
  const int64_t blocks = (length + kBlock - 1) / kBlock, missing = blocks * kBlock - length;
  if (missing)
    x = n.make<PadOp>(x, [&](auto &p) {
           p.value = n.b.getF64FloatAttr(0);
           p.low = n.b.getDenseI64ArrayAttr({0, 0, 0});
           p.high = n.b.getDenseI64ArrayAttr({0, missing, 0});
           p.interior = n.b.getDenseI64ArrayAttr({0, 0, 0});
         }).getY();
  Value rows = n.reshape(x, {outer * blocks, kBlock, inner});
  Value before = runningSums(n, n.reshape(n.sum(rows, {1}), {outer, blocks, inner}), true, reverse);
  Value sums = n.add(runningSums(n, rows, exclusive, reverse), n.reshape(before, {outer * blocks, 1, inner}));
  return n.slice(n.reshape(sums, {outer, blocks * kBlock, inner}), {0, 0, 0}, {outer, length, inner}, {1, 1, 1});
}

/// CumSum or CumProd along a constant axis. Sums of 16-bit floats are fp32 until the end.
template <typename OpT>
static void cumulative(Node &n) {
  constexpr bool isSum = std::is_same_v<OpT, ReduceSumOp>;
  bool exclusive = n.intAttribute("exclusive", 0) != 0, reverse = n.intAttribute("reverse", 0) != 0;
  int64_t axis = n.axis(n.constantInt(1, "axis"), n.rank(0)), length = n.shape(0)[axis];
  if (!isSum && length > 4096)
    n.limit("more than 4096 elements along the axis are not supported");
  const int64_t outer = llvm::product_of(n.shape(0).take_front(axis)),
                inner = llvm::product_of(n.shape(0).drop_front(axis + 1));
  Type element = n.element(0);
  Value x = n.reshape(n.in(0), {outer, length, inner});
  if (isSum && (element.isF16() || element.isBF16()))
    x = n.cast(x, n.b.getF32Type());
  Value y;
  if constexpr (isSum)
    y = runningSums(n, x, exclusive, reverse);
  else
    y = maskedRows<ReduceProdOp, 1>(n, x, exclusive, reverse);
  n.out(0, n.reshape(n.cast(y, element), n.shape(0)));
}

OpFamily onnx_import::reduceOps() {
  static const OpRow rows[] = {
      {"ReduceSum", 1, kMaxOpset, {1, 13, 2}, 1, "", "constant axes", plain<ReduceSumOp, 13>},
      {"ReduceMean", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", plain<ReduceMeanOp>},
      {"ReduceMax", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", plain<ReduceMaxOp>},
      {"ReduceMin", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", plain<ReduceMinOp>},
      {"ReduceProd", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", plain<ReduceProdOp>},
      {"ReduceL1", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", l1},
      {"ReduceL2", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", l2},
      {"ReduceSumSquare", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", sumSquare},
      {"ReduceLogSum", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", logSum},
      {"ReduceLogSumExp", 1, kMaxOpset, {1, 18, 2}, 1, "", "constant axes", logSumExp},
      {"ArgMax", 1, kMaxOpset, 1, 1, "", "", arg<false>},
      {"ArgMin", 1, kMaxOpset, 1, 1, "", "", arg<true>},
      {"CumSum", 11, kMaxOpset, 2, 1, "", "constant axis", cumulative<ReduceSumOp>},
      {"CumProd", 26, kMaxOpset, 2, 1, "", "constant axis, at most 4096 elements along it", cumulative<ReduceProdOp>},
  };
  return {"Reduce", rows};
}
