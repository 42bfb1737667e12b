// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/AttentionForm.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Returns x, whose dimensions are those of queries, with the rows of all heads that share a key as one matrix.
Value AttentionForm::rows(const GraphBuilder &b, Value x) const {
  ArrayRef<int64_t> shape = shapeOf(x);
  return b.reshape(x, {shape[0], keyHeads(), heads() / keyHeads() * shape[2], shape[3]});
}
/// Returns the opposite of `rows`.
Value AttentionForm::ofHeads(const GraphBuilder &b, Value x) const {
  return b.reshape(x, {samples(), heads(), queries(), shapeOf(x)[3]});
}

/// s of graph.attention without its mask, in at least fp32.
Value AttentionForm::openScores(const GraphBuilder &b) const {
  // In f16 the product could be beyond 65504, where the scores are not.
  bool scalesBefore = elementOf(q).isF16() && std::abs(scale) < 1;
  Value factor = scalesBefore ? b.cast(b.mul(b.up(q), scale), elementOf(q)) : q;
  Value product = b.matmul(rows(b, factor), k, /*transposeA=*/false, /*transposeB=*/true);
  Value s = b.up(ofHeads(b, product));
  if (!scalesBefore)
    s = b.mul(s, scale);
  return bias ? b.add(s, bias) : s;
}
/// Returns which keys are not hidden; null where all are not.
Value AttentionForm::seen(const GraphBuilder &b) const {
  Value result = mask;
  auto type = RankedTensorType::get({1, 1, queries(), keys()}, b.builder.getI64Type());
  auto distance = [&] { return b.sub(b.create<IotaOp>(type, 3), b.create<IotaOp>(type, 2)); };
  auto also = [&](Value condition) { result = result ? b.both(result, condition) : condition; };
  if (before)
    also(b.compare(Predicate::ge, distance(), -*before));
  if (after)
    also(b.compare(Predicate::le, distance(), *after));
  return result;
}
/// Puts a number in place of the scores of hidden keys.
Value AttentionForm::hide(const GraphBuilder &b, Value s, double number) const {
  Value shown = seen(b);
  return shown ? b.select(shown, s, number) : s;
}

Value AttentionForm::drop(const GraphBuilder &b, Value p) const {
  return seed ? Value(b.create<DropoutOp>(p.getType(), p, seed, step, ratio, salt)) : p;
}

/// p is divided by its sum behind the product with v, where there are V numbers for each query in place of N. In f16
/// it is divided before, because the product of undivided exponentials may be beyond 65504.
AttentionForm::Result AttentionForm::compute(const GraphBuilder &b) const {
  Type element = elementOf(q);
  double lowest = computeType(element).isF64() ? -DBL_MAX : -FLT_MAX;
  Value open = openScores(b), s = hide(b, open, fill.value_or(-INFINITY));
  // A mask hides with the lowest number here: where all of s are minus infinity, s - largest is so too, and the loop
  // that looks for the largest has vectors. (LLVM makes a branch of a maximum with minus infinity.)
  Value largest = b.largest(fill ? s : hide(b, open, lowest), {3}, /*keepdims=*/true);
  if (zeroRows)
    largest = b.max(largest, lowest);
  Value e = b.exp(b.sub(s, largest));
  Value sum = b.sum(e, {3}, /*keepdims=*/true);
  Value logSum = b.log(sum);
  bool dividesBefore = element.isF16();
  Value p = drop(b, dividesBefore ? b.div(e, sum) : e);
  Value y = b.up(ofHeads(b, b.matmul(rows(b, b.cast(p, element)), v)));
  if (!dividesBefore)
    y = b.div(y, sum);
  if (zeroRows) {
    Value none = b.compare(Predicate::eq, sum, 0);
    y = b.select(none, 0, y);
    logSum = b.select(none, INFINITY, logSum);
  }
  return {b.cast(y, element), largest, logSum};
}

Value AttentionForm::deltaOf(const GraphBuilder &b, Value y, Value dy) {
  Value up = b.up(dy);
  return b.sum(b.mul(up, b.up(y)), {3}, /*keepdims=*/true);
}

AttentionForm::Cotangents AttentionForm::differentiate(const GraphBuilder &b, Value largest, Value logSum, Value delta,
                                                       Value dy) const {
  Type element = elementOf(q);
  // p is rounded before anything else reads it, so that it is in memory in the smaller type.
  Value s = hide(b, openScores(b), fill.value_or(-INFINITY));
  Value p = b.cast(b.exp(b.sub(b.sub(s, largest), logSum)), element);
  Value dyRows = rows(b, dy);
  Cotangents result;
  result.dv = b.matmul(rows(b, seed ? b.cast(drop(b, b.up(p)), element) : p), dyRows, /*transposeA=*/true);
  Value dp = ofHeads(b, b.matmul(dyRows, v, /*transposeA=*/false, /*transposeB=*/true));
  Value ds = b.mul(b.up(p), b.sub(drop(b, b.up(dp)), delta));
  if (hides() && fill) // a number in place of the score is no function of q and k, and p may be above 0 there
    ds = b.select(seen(b), ds, 0);
  result.dscores = ds;
  Value scaled = rows(b, b.cast(b.mul(ds, scale), element));
  result.dq = ofHeads(b, b.matmul(scaled, k));
  result.dk = b.matmul(scaled, rows(b, q), /*transposeA=*/true);
  return result;
}
