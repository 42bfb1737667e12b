//===- Loss.cpp - VJPs of losses over integer labels -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores are [N, C, d...] and labels are [N, d...]; below, everything is reshaped to the rank of [N, C, d...], with 1
// in the dimensions that broadcast. For sample i with label l: L_i = -w_l logp_{i,l}, and L = L_i, sum L_i or sum L_i /
// sum w_l over the samples that are not ignored.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
/// The gradients of both losses are made of these values, which are in the compute type unless stated.
struct Samples {
  Value onehot;      // [N, C, d...] i1: true where c is the label
  Value counts;      // [N, 1, d...] i1: true where the label is not ignored; null when no label is ever ignored
  Value coefficient; // [N, 1, d...]: w_l dy / denominator, 0 for ignored samples
  Value dyOverDen;   // the same without w_l and the mask; it broadcasts to [N, 1, d...]
};
} // namespace

template <typename OpT>
static Samples buildSamples(VjpContext &ctx, const GraphBuilder &f, OpT op, Value scores) {
  Samples s;
  Type element = computeType(elementOf(scores));
  Shape perSample(shapeOf(scores)), perClass(perSample.size(), 1);
  perClass[1] = perSample[1];
  perSample[1] = 1;

  Value labels = f.reshape(op.getLabels(), perSample);
  Value classes = f.create<IotaOp>(typeOf(labels).clone(perClass), /*axis=*/1);
  s.onehot = f.compare(Predicate::eq, labels, classes);
  if (auto ignored = op.getIgnoreIndex())
    s.counts = f.compare(Predicate::ne, labels, double(int64_t(*ignored))); // the accessor is unsigned

  // The weight is w_l, or 0 for ignored samples; it is null when it is 1 for all.
  Value weight;
  if (op.getWeights()) {
    Value w = f.reshape(f.cast(op.getWeights(), element), perClass);
    weight = f.sum(f.select(s.onehot, w, 0.0), {1}, /*keepdims=*/true);
    if (s.counts)
      weight = f.select(s.counts, weight, 0.0);
  } else if (s.counts) {
    weight = f.cast(s.counts, element);
  }

  Value dy = f.up(ctx.cotangent());
  if (op.getReduction() == LossReduction::none) {
    dy = f.reshape(dy, perSample);
  } else if (op.getReduction() == LossReduction::mean) {
    if (weight)
      dy = f.div(dy, f.reshape(f.sum(weight, allAxes(weight), /*keepdims=*/true), {}));
    else
      dy = f.div(dy, double(typeOf(labels).getNumElements()));
  }
  s.dyOverDen = dy;
  s.coefficient = weight ? f.mul(dy, weight) : dy;
  // A select is used instead of 0 * dy: with every sample ignored, the mean's dy/0 must not become NaN.
  if (s.counts)
    s.coefficient = f.select(s.counts, s.coefficient, 0.0);
  return s;
}

/// dL/dw_c is the sum over samples with label c of dy (-logp_{i,c}),
/// or of dy (-logp_{i,c} - L) / sum w_l for the mean, which is a quotient. logp is in the compute type.
template <typename OpT>
static void setWeightGradient(VjpContext &ctx, const GraphBuilder &f, OpT op, const Samples &s, Value logp) {
  Value term = f.neg(logp);
  if (op.getReduction() == LossReduction::mean)
    term = f.sub(term, f.up(op.getLoss()));
  Value chosen = s.counts ? f.both(s.onehot, s.counts) : s.onehot;
  Value perElement = f.select(chosen, f.mul(s.dyOverDen, term), 0.0);
  Shape others;
  for (int64_t i = 0, e = shapeOf(logp).size(); i < e; ++i)
    if (i != 1)
      others.push_back(i);
  ctx.set(2, f.reshape(f.sum(perElement, others, /*keepdims=*/true), {shapeOf(logp)[1]}));
}

/// dlogp_{i,c} = -w_l dy / denominator where c is the label, else 0.
LogicalResult NllLossOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Samples s = buildSamples(ctx, f, *this, getLogProbabilities());
  if (ctx.needs(0))
    ctx.set(0, f.select(s.onehot, f.neg(s.coefficient), 0.0));
  if (getWeights() && ctx.needs(2))
    setWeightGradient(ctx, f, *this, s, f.up(getLogProbabilities()));
  return success();
}

/// dlogits = (softmax(logits) - onehot) w_l dy / denominator, computed in fp32 at least. It
/// composes the VJPs of nll_loss and log_softmax (the sum of dlogp over c is -coefficient).
LogicalResult SoftmaxCrossEntropyOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value logits = f.up(getLogits());
  Samples s = buildSamples(ctx, f, *this, getLogits());
  if (ctx.needs(0)) {
    Value p = f.create<SoftmaxOp>(logits, /*axis=*/1);
    Value onehot = f.cast(s.onehot, elementOf(p));
    ctx.set(0, f.mul(f.sub(p, onehot), s.coefficient));
  }
  if (getWeights() && ctx.needs(2))
    setWeightGradient(ctx, f, *this, s, f.create<LogSoftmaxOp>(logits, /*axis=*/1));
  return success();
}
