//===- Softmax.cpp - softmax and the classification losses ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reduced dimensions are kept as 1, so that fusion can compute a row in one launch.
//
//===----------------------------------------------------------------------===//
#include "passes/Decompose/Patterns.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// z = x - max(x). Both softmaxes exponentiate it, and it cannot overflow.
static Value shifted(const GraphBuilder &m, Value x, int64_t axis) {
  return m.sub(x, m.largest(x, {axis}, /*keepdims=*/true));
}
/// log softmax = z - log(sum(e^z)).
static Value logSoftmax(const GraphBuilder &m, Value x, int64_t axis) {
  Value z = shifted(m, x, axis);
  return m.sub(z, m.log(m.sum(m.exp(z), {axis}, /*keepdims=*/true)));
}

/// The loss for fp32 log-probabilities [N, C, d...]; see graph.nll_loss.
static Value nll(const GraphBuilder &m, Value logp, Value labels, Value weights, LossReduction reduction,
                 std::optional<int64_t> ignoreIndex) {
  ArrayRef<int64_t> shape = shapeOf(logp);
  Shape kept(shape);
  kept[1] = 1;
  Value label = m.reshape(labels, kept);
  Value classes = m.create<IotaOp>(RankedTensorType::get(shape, elementOf(labels)), /*axis=*/1);
  Value isLabel = m.compare(Predicate::eq, classes, label);
  // Picks the one term of a sample that counts, by a sum in which the others are zeros; this is exact.
  auto pick = [&](Value x) { return m.sum(m.select(isLabel, x, 0), {1}, /*keepdims=*/true); };
  Value loss = m.neg(pick(logp));
  Value weight;
  if (weights) {
    Shape perClass(shape.size(), 1);
    perClass[1] = shape[1];
    weight = pick(m.broadcast(m.reshape(m.cast(weights, elementOf(logp)), perClass), shape));
    loss = m.mul(loss, weight);
  }
  if (ignoreIndex) {
    Value counts = m.compare(Predicate::ne, label, double(*ignoreIndex));
    loss = m.select(counts, loss, 0);
    weight = m.select(counts, weight ? weight : m.constant(loss, 1), 0);
  }
  Shape samples(shape);
  samples.erase(samples.begin() + 1);
  loss = m.reshape(loss, samples);
  if (reduction == LossReduction::none)
    return loss;
  int64_t count = typeOf(loss).getNumElements();
  Value total = m.sum(loss, allAxes(loss));
  if (reduction == LossReduction::sum)
    return total;
  if (!weight)
    return m.mul(total, 1.0 / double(count));
  Value each = m.reshape(m.broadcast(weight, kept), samples);
  return m.div(total, m.sum(each, allAxes(each)));
}

static std::optional<int64_t> ignoreIndexOf(std::optional<uint64_t> attribute) {
  return attribute ? std::optional<int64_t>(int64_t(*attribute)) : std::nullopt;
}

namespace {

struct DecomposeSoftmax : OpRewritePattern<SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Value e = m.exp(shifted(m, m.up(op.getX()), op.getAxis()));
    Value y = m.div(e, m.sum(e, {int64_t(op.getAxis())}, /*keepdims=*/true));
    rewriter.replaceOp(op, m.cast(y, element));
    return success();
  }
};

struct DecomposeLogSoftmax : OpRewritePattern<LogSoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogSoftmaxOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    rewriter.replaceOp(op, m.cast(logSoftmax(m, m.up(op.getX()), op.getAxis()), element));
    return success();
  }
};

struct DecomposeNll : OpRewritePattern<NllLossOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NllLossOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getLogProbabilities());
    GraphBuilder m(rewriter, op.getLoc());
    Value loss = nll(m, m.up(op.getLogProbabilities()), op.getLabels(), op.getWeights(), op.getReduction(),
                     ignoreIndexOf(op.getIgnoreIndex()));
    rewriter.replaceOp(op, m.cast(loss, element));
    return success();
  }
};

struct DecomposeSoftmaxCrossEntropy : OpRewritePattern<SoftmaxCrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxCrossEntropyOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getLogits());
    GraphBuilder m(rewriter, op.getLoc());
    Value logp = logSoftmax(m, m.up(op.getLogits()), 1);
    Value loss = nll(m, logp, op.getLabels(), op.getWeights(), op.getReduction(), ignoreIndexOf(op.getIgnoreIndex()));
    rewriter.replaceOp(op, m.cast(loss, element));
    return success();
  }
};

} // namespace

void mpc::populateSoftmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeSoftmax, DecomposeLogSoftmax, DecomposeNll, DecomposeSoftmaxCrossEntropy>(
      patterns.getContext());
}
