//===- Normalization.cpp - batch normalisation -------------------------------------===//
//
// Statistics in two passes, mean then squared deviations: stable where |mean| is large against the deviation. Per-channel
// factors are computed once, on [C].
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Decompose/Patterns.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
/// The channels of an activation: which axes are reduced, over how many elements, and how [C] broadcasts against it.
struct Channels {
  Channels(const Arithmetic &m, Value x, int64_t axis) : m(m), shape(typeOf(x).getRank(), 1) {
    shape[axis] = shapeOf(x)[axis];
    for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
      if (i != axis) {
        axes.push_back(i);
        count *= shapeOf(x)[i];
      }
  }
  /// [C] → [1, C, 1, ...] or wherever the channels are.
  Value spread(Value perChannel) const { return reshapeTo(m.b, m.loc, perChannel, shape); }
  Value sum(Value x) const { return m.sum(x, axes); }
  Value mean(Value x) const { return m.mul(sum(x), m.constant(1.0 / double(count))); }

  const Arithmetic &m;
  Shape shape, axes;
  int64_t count = 1;
};

/// y = (x - mean)*a + bias with a = scale/sqrt(variance + epsilon).
Value normalize(const Arithmetic &m, const Channels &channels, Value x, Value scale, Value bias, Value mean, Value variance, double epsilon) {
  Value a = m.mul(scale, m.rsqrt(m.add(variance, m.constant(epsilon))));
  return m.add(m.mul(m.sub(x, channels.spread(mean)), channels.spread(a)), channels.spread(bias));
}

struct DecomposeBatchNorm : OpRewritePattern<BatchNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    Arithmetic m{rewriter, op.getLoc(), computeType(element)};
    Channels channels(m, op.getX(), op.getAxis());
    Value x = m.widen(op.getX()), mean = channels.mean(x), deviation = m.sub(x, channels.spread(mean));
    Value variance = channels.mean(m.mul(deviation, deviation));
    Value y = normalize(m, channels, x, op.getScale(), op.getBias(), mean, variance, op.getEpsilon().convertToDouble());
    rewriter.replaceOp(op, {castTo(rewriter, op.getLoc(), y, element), mean, variance});
    return success();
  }
};

struct DecomposeBatchNormInference : OpRewritePattern<BatchNormInferenceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormInferenceOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    Arithmetic m{rewriter, op.getLoc(), computeType(element)};
    Channels channels(m, op.getX(), op.getAxis());
    Value y = normalize(m, channels, m.widen(op.getX()), op.getScale(), op.getBias(), op.getMean(), op.getVariance(),
                        op.getEpsilon().convertToDouble());
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), y, element));
    return success();
  }
};

/// With s = 1/sqrt(variance + epsilon), d = x - mean, M elements per channel:
/// dbias = sum dy, dscale = s * sum(dy*d), dx = scale*s * (dy - dbias/M - d * s*dscale/M).
struct DecomposeBatchNormGrad : OpRewritePattern<BatchNormGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormGradOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    Arithmetic m{rewriter, op.getLoc(), computeType(element)};
    Channels channels(m, op.getX(), op.getAxis());
    Value dy = m.widen(op.getDy()), deviation = m.sub(m.widen(op.getX()), channels.spread(op.getMean()));
    Value s = m.rsqrt(m.add(op.getVariance(), m.constant(op.getEpsilon().convertToDouble())));
    Value dbias = channels.sum(dy), dscale = m.mul(channels.sum(m.mul(dy, deviation)), s);
    Value perElement = m.constant(1.0 / double(channels.count));
    Value meanDy = m.mul(dbias, perElement), slope = m.mul(m.mul(dscale, s), perElement), factor = m.mul(op.getScale(), s);
    Value centred = m.sub(m.sub(dy, channels.spread(meanDy)), m.mul(deviation, channels.spread(slope)));
    Value dx = m.mul(centred, channels.spread(factor));
    rewriter.replaceOp(op, {castTo(rewriter, op.getLoc(), dx, element), dscale, dbias});
    return success();
  }
};
} // namespace

void mpc::populateNormalizationPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeBatchNorm, DecomposeBatchNormInference, DecomposeBatchNormGrad>(patterns.getContext());
}
