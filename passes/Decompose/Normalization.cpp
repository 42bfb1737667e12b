//===- Normalization.cpp - batch, layer and group normalisation -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch norm reads its channels once: it sums the deviations d = x - k from a number k near the mean, and their
// squares, so that mean = k + E[d] and variance = E[d^2] - E[d]^2 (Chan, Golub and LeVeque 1983, shifted data). The
// relative error of that variance grows as 1 + (k - mean)^2/variance does, so k is taken from the channel itself. Layer
// and group norms have their rows in registers or in the cache, and take two passes: the mean first, then the
// deviations and their squares.
//
// For bf16 on GPUs k is 0. Sums that take no elements from x are computed in the launch that computes x
// (Grouping::joinsProduct), in short chains, so that the variance is wrong by about mean^2 * 2^-21. Where x varies at
// all, its rounding to 8 bits has changed the variance by about mean^2 * 2^-19 before.
//
// Where k is subtracted, E[d] corrects it, because the mean of many fp32 numbers is wrong by a few units in its last
// place. Without the correction every y of a channel would be wrong by the same amount, which the gradient of a bias
// sums up. Per-channel factors are computed once for each channel.
//
//===----------------------------------------------------------------------===//
#include "passes/Decompose/Patterns.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
/// The channels of an activation: which axes are reduced, over how many elements, and how [C] broadcasts to
/// the activation.
struct Channels {
  Channels(const GraphBuilder &m, Value x, int64_t axis) : m(m), shape(typeOf(x).getRank(), 1) {
    shape[axis] = shapeOf(x)[axis];
    for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
      if (i != axis) {
        axes.push_back(i);
        count *= shapeOf(x)[i];
      }
  }
  /// Reshapes [C] to [1, C, 1, ...], with C at the position of the channels.
  Value spread(Value perChannel) const { return m.reshape(perChannel, shape); }
  Value sum(Value x) const { return m.sum(x, axes); }
  /// Returns the mean of each channel in the shape of `spread`.
  Value mean(Value x) const { return m.mul(m.sum(x, axes, /*keepdims=*/true), 1.0 / double(count)); }
  /// Returns, in the shape of `spread`, a number of each channel that lies among the others: the median of the elements
  /// at a quarter, a half and three quarters of every dimension, since one alone may be an outlier.
  Value typical(Value x) const;

  const GraphBuilder &m;
  Shape shape, axes;
  int64_t count = 1;
};

Value Channels::typical(Value x) const {
  if (count == 0)
    return m.splat(RankedTensorType::get(shape, computeType(elementOf(x))), 0);
  auto at = [&](int64_t quarters) {
    Shape starts(shape.size(), 0);
    for (int64_t axis : axes)
      starts[axis] = shapeOf(x)[axis] * quarters / 4;
    return m.up(m.slice(x, starts, shape, /*strides=*/Shape(shape.size(), 1)));
  };
  Value a = at(1), b = at(2), c = at(3), low = m.min(a, b), high = m.max(a, b);
  return m.max(low, m.min(high, c));
}

/// y = deviation*a + bias with a = scale/sqrt(variance + epsilon). Scale and bias are [C], the variance has the shape
/// of `spread`.
Value normalize(const GraphBuilder &m, const Channels &channels, Value deviation, Value scale, Value bias,
                Value variance, double epsilon) {
  Value a = m.mul(channels.spread(scale), m.rsqrt(m.add(variance, epsilon)));
  return m.add(m.mul(deviation, a), channels.spread(bias));
}

/// Returns E[d^2] - E[d]^2 for deviations d from approximately the mean, and 0 where rounding makes that negative.
Value varianceOf(const GraphBuilder &m, Value meanSquare, Value mean) {
  return m.max(m.sub(meanSquare, m.square(mean)), 0);
}

struct DecomposeBatchNorm : OpRewritePattern<BatchNormOp> {
  DecomposeBatchNorm(MLIRContext *context, bool forGpu) : OpRewritePattern(context), forGpu(forGpu) {}
  LogicalResult matchAndRewrite(BatchNormOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Channels channels(m, op.getX(), op.getAxis());
    Value x = m.up(op.getX()), near = forGpu && element.isBF16() ? Value() : channels.typical(op.getX());
    Value shifted = near ? m.sub(x, near) : x, offset = channels.mean(shifted), mean = offset;
    Value variance = varianceOf(m, channels.mean(m.square(shifted)), offset), deviation;
    if (near) {
      // The mean as a sum of two numbers: the second is what the first lacks by rounding.
      mean = m.add(near, offset);
      Value rest = m.add(m.sub(near, mean), offset);
      deviation = m.sub(m.sub(x, mean), rest);
    } else {
      deviation = m.sub(x, mean);
    }
    Value y =
        normalize(m, channels, deviation, op.getScale(), op.getBias(), variance, op.getEpsilon().convertToDouble());
    auto perChannel = [&](Value v, Value like) { return m.reshape(v, shapeOf(like)); };
    rewriter.replaceOp(op,
                       {m.cast(y, element), perChannel(mean, op.getMean()), perChannel(variance, op.getVariance())});
    return success();
  }

  bool forGpu;
};

struct DecomposeBatchNormInference : OpRewritePattern<BatchNormInferenceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormInferenceOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Channels channels(m, op.getX(), op.getAxis());
    Value mean = channels.spread(op.getMean()), deviation = m.sub(m.up(op.getX()), mean);
    Value variance = channels.spread(op.getVariance());
    Value y =
        normalize(m, channels, deviation, op.getScale(), op.getBias(), variance, op.getEpsilon().convertToDouble());
    rewriter.replaceOp(op, m.cast(y, element));
    return success();
  }
};

/// With s = 1/sqrt(variance + epsilon), d = x - mean, M elements per channel:
/// dbias = sum dy, dscale = s * sum(dy*d), dx = scale*s * (dy - dbias/M - d * s*dscale/M).
struct DecomposeBatchNormGrad : OpRewritePattern<BatchNormGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BatchNormGradOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Channels channels(m, op.getX(), op.getAxis());
    if (typeOf(op.getX()).getNumElements() == 0) { // the statistics are no numbers then, but sums of nothing are 0
      auto zero = [&](Value v) { return m.splat(typeOf(v), 0); };
      rewriter.replaceOp(op, {zero(op.getDx()), zero(op.getDscale()), zero(op.getDbias())});
      return success();
    }
    Value dy = m.up(op.getDy()), mean = channels.spread(op.getMean()), deviation = m.sub(m.up(op.getX()), mean);
    Value s = m.rsqrt(m.add(op.getVariance(), op.getEpsilon().convertToDouble()));
    Value dbias = channels.sum(dy), dscale = m.mul(channels.sum(m.mul(dy, deviation)), s);
    Value perElement = m.constant(dy, 1.0 / double(channels.count));
    Value meanDy = m.mul(dbias, perElement), slope = m.mul(m.mul(dscale, s), perElement),
          factor = m.mul(op.getScale(), s);
    Value along = m.mul(deviation, channels.spread(slope)), centred = m.sub(m.sub(dy, channels.spread(meanDy)), along);
    Value dx = m.mul(centred, channels.spread(factor));
    rewriter.replaceOp(op, {m.cast(dx, element), dscale, dbias});
    return success();
  }
};
} // namespace

//===-- Layer and group normalisation -----------------------------------------------===//

namespace {
/// What a layer or group norm and its gradient compute with: the shape of x, and the dimensions that are
/// normalised over.
struct Norm {
  Norm(const GraphBuilder &m, NormKind kind, double epsilon, ArrayRef<int64_t> shape)
      : m(m), kind(kind), epsilon(epsilon), shape(shape) {}

  /// Sums over `first`, then over `second`; both stay as dimensions of size 1. In channels-last order a group's
  /// elements are not contiguous, so the spatial dimensions are summed first, which leaves a small tensor.
  Value sum(Value x) const {
    Value total = m.sum(x, first, /*keepdims=*/true);
    return second.empty() ? total : m.sum(total, second, /*keepdims=*/true);
  }
  Value mean(Value x) const { return m.mul(sum(x), 1.0 / count()); }
  double count() const {
    double n = 1;
    for (const Shape *axes : {&first, &second})
      for (int64_t axis : *axes)
        n *= double(shape[axis]);
    return n;
  }
  /// x*scale, or x where the scale is 1 everywhere.
  Value scaled(Value x, Value scale) const { return splatNumber(scale) == 1.0 ? x : m.mul(x, scale); }

  struct Statistics {
    Value mean, inverse; ///< the mean is null where none is subtracted
  };
  struct Normalised {
    Statistics statistics;
    Value y;
  };
  Normalised apply(Value x, Value scale, Value bias) const;
  struct Gradients {
    Value dx, dscale, dbias;
  };
  Gradients gradients(Value x, const Statistics &statistics, Value scale, Value bias, Value dy) const;

  const GraphBuilder &m;
  NormKind kind;
  double epsilon;
  Shape shape, first, second;
};

/// graph.layer_norm documents the formulas.
Norm::Normalised Norm::apply(Value x, Value scale, Value bias) const {
  Statistics statistics;
  Value deviation = x;
  if (kind == NormKind::l2) {
    Value divisor = m.max(m.sqrt(sum(m.square(x))), epsilon);
    Value isZero = m.compare(Predicate::eq, divisor, 0);
    Value inverse = m.div(1, m.select(isZero, 1, divisor));
    statistics.inverse = m.select(isZero, 0, inverse);
  } else {
    Value square;
    if (kind == NormKind::layer) {
      Value rough = mean(x), d = m.sub(x, rough), rest = mean(d);
      square = varianceOf(m, mean(m.square(d)), rest);
      deviation = m.sub(d, rest);
      statistics.mean = m.add(rough, rest);
    } else {
      square = mean(m.square(x));
    }
    statistics.inverse = m.rsqrt(m.add(square, epsilon));
  }
  Value y = scaled(m.mul(deviation, statistics.inverse), scale);
  return {statistics, splatNumber(bias) == 0.0 ? y : m.add(y, bias)};
}

/// graph.layer_norm_grad documents the formulas. For an l2 norm below epsilon the inverse is 1/epsilon,
/// rounded; so inverse times epsilon is 1 up to that rounding, which this bound allows for.
static constexpr double kNormActs = 1 - 0x1p-20;
Norm::Gradients Norm::gradients(Value x, const Statistics &statistics, Value scale, Value bias, Value dy) const {
  Value normalised = m.mul(kind == NormKind::layer ? m.sub(x, statistics.mean) : x, statistics.inverse);
  Value g = scaled(dy, scale), along = sum(m.mul(g, normalised));
  if (kind != NormKind::l2) {
    along = m.mul(along, 1.0 / count());
  } else {
    Value acts = m.compare(Predicate::lt, m.mul(statistics.inverse, epsilon), kNormActs);
    along = m.select(acts, along, 0);
  }
  Value inner = kind == NormKind::layer ? m.sub(g, mean(g)) : g;
  Value dx = m.mul(m.sub(inner, m.mul(normalised, along)), statistics.inverse);
  return {dx, m.sumTo(m.mul(dy, normalised), shapeOf(scale)), m.sumTo(dy, shapeOf(bias))};
}

struct DecomposeLayerNorm : OpRewritePattern<LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LayerNormOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Norm norm(m, op.getKind(), op.getEpsilon().convertToDouble(), shapeOf(op.getX()));
    norm.first = Shape(op.getAxes());
    auto [statistics, y] = norm.apply(m.up(op.getX()), op.getScale(), op.getBias());
    Value mean = statistics.mean ? statistics.mean : m.splat(typeOf(op.getMean()), 0);
    rewriter.replaceOp(op, {m.cast(y, element), mean, statistics.inverse});
    return success();
  }
};

struct DecomposeLayerNormGrad : OpRewritePattern<LayerNormGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LayerNormGradOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Norm norm(m, op.getKind(), op.getEpsilon().convertToDouble(), shapeOf(op.getX()));
    norm.first = Shape(op.getAxes());
    Value dy = m.up(op.getDy());
    Norm::Gradients grads =
        norm.gradients(m.up(op.getX()), {op.getMean(), op.getInverse()}, op.getScale(), op.getBias(), dy);
    rewriter.replaceOp(op, {m.cast(grads.dx, element), grads.dscale, grads.dbias});
    return success();
  }
};

/// The channels of an activation as [groups, channels of a group], which is one more dimension.
struct Groups {
  Groups(const GraphBuilder &m, double epsilon, Value x, int64_t axis, int64_t groups)
      : m(m), shape(shapeOf(x)), perChannel(shape.size() + 1, 1), perGroup(shape.size() + 1, 1),
        norm(m, NormKind::layer, epsilon, {}) {
    int64_t samples = shape[0], width = shape[axis] / groups, rank = shape.size();
    shape[axis] = groups;
    shape.insert(shape.begin() + axis + 1, width);
    perChannel[axis] = perGroup[axis] = groups;
    perChannel[axis + 1] = width;
    perGroup[0] = samples;
    norm.shape = shape;
    for (int64_t i = 1; i <= rank; ++i)
      if (i != axis && i != axis + 1)
        norm.first.push_back(i);
    // Neighbours in memory are summed in one pass.
    Shape &own = axis == 1 ? norm.first : norm.second;
    own.insert(llvm::lower_bound(own, axis + 1), axis + 1);
  }
  Value activation(Value v) const { return m.up(m.reshape(v, shape)); }
  Value channels(Value v) const { return m.reshape(v, perChannel); }
  Value groups(Value v) const { return m.reshape(v, perGroup); }

  const GraphBuilder &m;
  Shape shape, perChannel, perGroup;
  Norm norm;
};

struct DecomposeGroupNorm : OpRewritePattern<GroupNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GroupNormOp op, PatternRewriter &rewriter) const override {
    GraphBuilder m(rewriter, op.getLoc());
    Groups groups(m, op.getEpsilon().convertToDouble(), op.getX(), op.getAxis(), op.getGroups());
    Value bias = groups.channels(op.getBias()), scale = groups.channels(op.getScale());
    auto [statistics, wide] = groups.norm.apply(groups.activation(op.getX()), scale, bias);
    Value y = m.cast(wide, elementOf(op.getY()));
    auto as = [&](Value v, Value like) { return m.reshape(v, shapeOf(like)); };
    rewriter.replaceOp(op,
                       {as(y, op.getY()), as(statistics.mean, op.getMean()), as(statistics.inverse, op.getInverse())});
    return success();
  }
};

struct DecomposeGroupNormGrad : OpRewritePattern<GroupNormGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GroupNormGradOp op, PatternRewriter &rewriter) const override {
    GraphBuilder m(rewriter, op.getLoc());
    Groups groups(m, op.getEpsilon().convertToDouble(), op.getX(), op.getAxis(), op.getGroups());
    Value scale = groups.channels(op.getScale()), dy = groups.activation(op.getDy());
    Norm::Statistics statistics{groups.groups(op.getMean()), groups.groups(op.getInverse())};
    Norm::Gradients grads = groups.norm.gradients(groups.activation(op.getX()), statistics, scale, /*bias=*/scale, dy);
    Value dx = m.cast(grads.dx, elementOf(op.getDx()));
    auto as = [&](Value v, Value like) { return m.reshape(v, shapeOf(like)); };
    rewriter.replaceOp(op, {as(dx, op.getDx()), as(grads.dscale, op.getDscale()), as(grads.dbias, op.getDbias())});
    return success();
  }
};
} // namespace

void mpc::populateNormalizationPatterns(RewritePatternSet &patterns, bool forGpu) {
  patterns.add<DecomposeBatchNorm>(patterns.getContext(), forGpu);
  patterns.add<DecomposeBatchNormInference, DecomposeBatchNormGrad, DecomposeLayerNorm, DecomposeLayerNormGrad,
               DecomposeGroupNorm, DecomposeGroupNormGrad>(patterns.getContext());
}
