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
/// Returns log(sum(e^z)) along the axis.
static Value logSum(const GraphBuilder &m, Value z, int64_t axis) {
  return m.log(m.sum(m.exp(z), {axis}, /*keepdims=*/true));
}

/// Returns for [N, C, d...] the element of each sample's class, as [N, 1, d...]: a sum in which the others are zeros,
/// which is exact.
using Pick = llvm::function_ref<Value(Value)>;

/// Builds the loss for fp32 scores of the shape [N, C, d...] and for what `logProbability` makes of the labels; see
/// graph.nll_loss.
static Value nll(const GraphBuilder &m, RankedTensorType scores, Value labels, Value weights, LossReduction reduction,
                 std::optional<int64_t> ignoreIndex, llvm::function_ref<Value(Pick)> logProbability) {
  ArrayRef<int64_t> shape = scores.getShape();
  Shape kept(shape);
  kept[1] = 1;
  Value label = m.reshape(labels, kept);
  Value classes = m.create<IotaOp>(RankedTensorType::get(shape, elementOf(labels)), /*axis=*/1);
  Value isLabel = m.compare(Predicate::eq, classes, label);
  auto pick = [&](Value x) { return m.sum(m.select(isLabel, x, 0), {1}, /*keepdims=*/true); };
  Value loss = m.neg(logProbability(pick));
  Value weight;
  if (weights) {
    Shape perClass(shape.size(), 1);
    perClass[1] = shape[1];
    weight = pick(m.broadcast(m.reshape(m.cast(weights, scores.getElementType()), perClass), shape));
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
    // One quotient for a row: a product takes a fraction of the time.
    Value y = m.mul(e, m.div(1, m.sum(e, {int64_t(op.getAxis())}, /*keepdims=*/true)));
    rewriter.replaceOp(op, m.cast(y, element));
    return success();
  }
};

struct DecomposeLogSoftmax : OpRewritePattern<LogSoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogSoftmaxOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Value z = shifted(m, m.up(op.getX()), op.getAxis());
    rewriter.replaceOp(op, m.cast(m.sub(z, logSum(m, z, op.getAxis())), element));
    return success();
  }
};

struct DecomposeNll : OpRewritePattern<NllLossOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NllLossOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getLogProbabilities());
    GraphBuilder m(rewriter, op.getLoc());
    Value logp = m.up(op.getLogProbabilities());
    Value loss = nll(m, typeOf(logp), op.getLabels(), op.getWeights(), op.getReduction(),
                     ignoreIndexOf(op.getIgnoreIndex()), [&](Pick pick) { return pick(logp); });
    rewriter.replaceOp(op, m.cast(loss, element));
    return success();
  }
};

struct DecomposeSoftmaxCrossEntropy : OpRewritePattern<SoftmaxCrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxCrossEntropyOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getLogits());
    GraphBuilder m(rewriter, op.getLoc());
    Value z = shifted(m, m.up(op.getLogits()), 1);
    // z is picked, and the logarithm subtracted behind that, so one pass over a row does both sums. A label that is no
    // class and not ignored picks 0; those of data are refused where they are read.
    Value loss = nll(m, typeOf(z), op.getLabels(), op.getWeights(), op.getReduction(),
                     ignoreIndexOf(op.getIgnoreIndex()), [&](Pick pick) { return m.sub(pick(z), logSum(m, z, 1)); });
    rewriter.replaceOp(op, m.cast(loss, element));
    return success();
  }
};

} // namespace

void mpc::populateSoftmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeSoftmax, DecomposeLogSoftmax, DecomposeNll, DecomposeSoftmaxCrossEntropy>(
      patterns.getContext());
}
