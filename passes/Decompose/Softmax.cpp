//===- Softmax.cpp - softmax and the classification losses ------------------------===//
//
// Reduced dimensions are kept as 1, so that fusion can compute a row in one launch.
//
//===----------------------------------------------------------------------===//
#include "passes/Decompose/Patterns.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// z = x - max(x). Both softmaxes exponentiate it, and it cannot overflow.
static Value shifted(const Arithmetic &m, Value x, int64_t axis) {
  return m.sub(x, m.max(x, {axis}, /*keepdims=*/true));
}
/// log softmax = z - log(sum(e^z)).
static Value logSoftmax(const Arithmetic &m, Value x, int64_t axis) {
  Value z = shifted(m, x, axis);
  return m.sub(z, m.log(m.sum(m.exp(z), {axis}, /*keepdims=*/true)));
}

/// The loss for fp32 log-probabilities [N, C, d...]; see graph.nll_loss.
static Value nll(const Arithmetic &m, Value logp, Value labels, Value weights, LossReduction reduction,
                 std::optional<int64_t> ignoreIndex) {
  OpBuilder &b = m.b;
  ArrayRef<int64_t> shape = shapeOf(logp);
  Type labelType = elementOf(labels);
  Shape kept(shape);
  kept[1] = 1;
  Value label = reshapeTo(b, m.loc, labels, kept);
  Value classes = IotaOp::create(b, m.loc, RankedTensorType::get(shape, labelType), 1);
  Value isLabel = CompareOp::create(b, m.loc, Predicate::eq, classes, label);
  // Picks the one term of a sample that counts, by a sum in which the others are zeros; this is exact.
  auto pick = [&](Value x) { return m.sum(SelectOp::create(b, m.loc, isLabel, x, m.constant(0)), {1}, /*keepdims=*/true); };
  Value loss = m.neg(pick(logp));
  Value weight;
  if (weights) {
    Shape perClass(shape.size(), 1);
    perClass[1] = shape[1];
    weight = pick(broadcastTo(b, m.loc, reshapeTo(b, m.loc, m.widen(weights), perClass), shape));
    loss = m.mul(loss, weight);
  }
  if (ignoreIndex) {
    Value counts = CompareOp::create(b, m.loc, Predicate::ne, label, scalar(b, m.loc, labelType, double(*ignoreIndex)));
    loss = SelectOp::create(b, m.loc, counts, loss, m.constant(0));
    weight = SelectOp::create(b, m.loc, counts, weight ? weight : m.constant(1), m.constant(0));
  }
  Shape samples(shape);
  samples.erase(samples.begin() + 1);
  loss = reshapeTo(b, m.loc, loss, samples);
  if (reduction == LossReduction::none)
    return loss;
  Shape all(llvm::to_vector(llvm::seq<int64_t>(samples.size())));
  int64_t count = typeOf(loss).getNumElements();
  Value total = m.sum(loss, all);
  if (reduction == LossReduction::sum)
    return total;
  if (!weight)
    return m.mul(total, m.constant(1.0 / double(count)));
  Value denominator = m.sum(reshapeTo(b, m.loc, broadcastTo(b, m.loc, weight, kept), samples), all);
  return m.div(total, denominator);
}

static std::optional<int64_t> ignoreIndexOf(std::optional<uint64_t> attribute) {
  return attribute ? std::optional<int64_t>(int64_t(*attribute)) : std::nullopt;
}

namespace {

struct DecomposeSoftmax : OpRewritePattern<SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    Arithmetic m{rewriter, op.getLoc(), computeType(element)};
    Value e = m.exp(shifted(m, m.widen(op.getX()), op.getAxis()));
    Value y = m.div(e, m.sum(e, {int64_t(op.getAxis())}, /*keepdims=*/true));
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), y, element));
    return success();
  }
};

struct DecomposeLogSoftmax : OpRewritePattern<LogSoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogSoftmaxOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    Arithmetic m{rewriter, op.getLoc(), computeType(element)};
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), logSoftmax(m, m.widen(op.getX()), op.getAxis()), element));
    return success();
  }
};

struct DecomposeNll : OpRewritePattern<NllLossOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NllLossOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getLogProbabilities());
    Arithmetic m{rewriter, op.getLoc(), computeType(element)};
    Value loss = nll(m, m.widen(op.getLogProbabilities()), op.getLabels(), op.getWeights(), op.getReduction(),
                     ignoreIndexOf(op.getIgnoreIndex()));
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), loss, element));
    return success();
  }
};

struct DecomposeSoftmaxCrossEntropy : OpRewritePattern<SoftmaxCrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxCrossEntropyOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getLogits());
    Arithmetic m{rewriter, op.getLoc(), computeType(element)};
    Value logp = logSoftmax(m, m.widen(op.getLogits()), 1);
    Value loss = nll(m, logp, op.getLabels(), op.getWeights(), op.getReduction(), ignoreIndexOf(op.getIgnoreIndex()));
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), loss, element));
    return success();
  }
};

} // namespace

void mpc::populateSoftmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeSoftmax, DecomposeLogSoftmax, DecomposeNll, DecomposeSoftmaxCrossEntropy>(patterns.getContext());
}
