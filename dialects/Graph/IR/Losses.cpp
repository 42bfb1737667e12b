// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Losses.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

Value graph::labelWeights(const GraphBuilder &b, Value labels, Value weights, std::optional<int64_t> ignored) {
  Type f32 = b.builder.getF32Type();
  auto weightsOf = [&](Value valid) { return b.cast(b.create<GatherOp>(weights, valid, /*axis=*/0), f32); };
  if (!ignored)
    return weights ? weightsOf(labels) : b.splat(typeOf(labels).clone(f32), 1);
  Value valid = b.compare(Predicate::ne, labels, double(*ignored));
  if (!weights)
    return b.cast(valid, f32);
  // An ignored label may be no valid index at all.
  return b.select(valid, weightsOf(b.select(valid, labels, 0)), 0);
}

/// Returns p with each class, along `axis`, times its weight; p itself without weights.
static Value weighted(const GraphBuilder &b, Value p, Value weights, int64_t axis) {
  if (!weights)
    return p;
  Shape perClass(typeOf(p).getRank() - axis, 1); // broadcasting aligns the last dimensions
  perClass[0] = shapeOf(p)[axis];
  return b.mul(p, b.reshape(weights, perClass));
}

Value graph::smoothedCrossEntropy(const GraphBuilder &b, Value scores, Value labels, Value weights,
                                  LossReduction reduction, int64_t ignored, double smoothing) {
  Value p = b.create<LogSoftmaxOp>(scores, /*axis=*/1);
  Value hard = b.create<NllLossOp>(p, labels, weights, LossReduction::none, b.builder.getI64IntegerAttr(ignored));
  Value soft = b.sum(weighted(b, p, weights, /*axis=*/1), {1});
  Value counts = b.compare(Predicate::ne, labels, double(ignored));
  soft = b.mul(b.select(counts, soft, 0), smoothing / double(shapeOf(p)[1]));
  Value costs = b.sub(b.mul(hard, 1 - smoothing), soft);
  if (reduction == LossReduction::none)
    return costs;
  Value sum = b.sum(costs, allAxes(costs));
  if (reduction == LossReduction::sum)
    return sum;
  Value counted = labelWeights(b, labels, weights, ignored);
  return b.div(sum, b.sum(counted, allAxes(counted)));
}

Value graph::crossEntropyOfProbabilities(const GraphBuilder &b, Value scores, Value targets, int64_t axis,
                                         Value weights, LossReduction reduction, double smoothing) {
  Value p = weighted(b, b.create<LogSoftmaxOp>(scores, axis), weights, axis);
  Value shares = targets;
  if (smoothing > 0)
    shares = b.add(b.mul(targets, 1 - smoothing), smoothing / double(shapeOf(p)[axis]));
  Value costs = b.neg(b.sum(b.mul(shares, p), {axis}));
  if (reduction == LossReduction::none)
    return costs;
  if (reduction == LossReduction::sum)
    return b.sum(costs, allAxes(costs));
  return b.create<ReduceMeanOp>(costs, allAxes(costs), /*keepdims=*/false);
}
