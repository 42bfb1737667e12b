//===- Normalization.cpp - batch normalisation in primitive ops ------------------===//
//
// Statistics take two passes, mean then squared distances from it: one pass (E[x^2] - mean^2) cancels when the mean is large against the
// deviation. For the same reason x is centred before it is scaled, instead of folding the mean into the bias. What has one
// element per channel is a [C] tensor of its own, computed once.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Decompose/Decompositions.h"

using namespace mlir;
using namespace mpc;
using Values = llvm::SmallVector<Value>;

namespace {
/// x: [.., C, ..] with channels at `axis`.
struct Channels {
  GraphFormula &f;
  Value x;
  int64_t axis;

  graph::Shape others() const {
    graph::Shape axes;
    for (int64_t i = 0, e = graph::shapeOf(x).size(); i < e; ++i)
      if (i != axis)
        axes.push_back(i);
    return axes;
  }
  double perChannel() const { return double(graph::typeOf(x).getNumElements()) / double(graph::shapeOf(x)[axis]); }
  /// [C] so that it broadcasts with x.
  Value spread(Value v) const {
    graph::Shape shape(graph::shapeOf(x).size() - axis, 1);
    shape[0] = graph::shapeOf(v)[0];
    return graph::reshapeTo(f.b, f.loc, v, shape);
  }
  Value sum(Value v) const { return f.sum(v, others(), false); }
  Value mean(Value v) const { return f.div(sum(v), f.scalar(v, perChannel())); }
};
} // namespace

static Value inverseDeviation(GraphFormula &f, Value variance, double epsilon) {
  return f.rsqrt(f.add(variance, f.scalar(variance, epsilon)));
}

/// (x - mean) * (scale / sqrt(variance + eps)) + bias
static Value normalize(GraphFormula &f, const Channels &c, Value scale, Value bias, Value mean, Value variance, double epsilon) {
  Value factor = f.mul(scale, inverseDeviation(f, variance, epsilon));
  Value centred = f.sub(c.x, c.spread(mean));
  return f.add(f.mul(centred, c.spread(factor)), c.spread(bias));
}

Values mpc::decompose(graph::BatchNormOp op, GraphFormula f) {
  Channels c{f, f.up(op.getX()), int64_t(op.getAxis())};
  Value mean = c.mean(c.x), centred = f.sub(c.x, c.spread(mean));
  Value variance = c.mean(f.mul(centred, centred));
  Value y = normalize(f, c, op.getScale(), op.getBias(), mean, variance, op.getEpsilon().convertToDouble());
  return {f.down(y, graph::elementOf(op.getY())), mean, variance};
}

Values mpc::decompose(graph::BatchNormInferenceOp op, GraphFormula f) {
  Channels c{f, f.up(op.getX()), int64_t(op.getAxis())};
  Value y = normalize(f, c, op.getScale(), op.getBias(), op.getMean(), op.getVariance(), op.getEpsilon().convertToDouble());
  return {f.down(y, graph::elementOf(op.getY()))};
}

/// With r = 1/sqrt(variance + eps): dbias = sum dy, dscale = r sum dy (x - mean),
/// dx = scale r (dy - dbias/M - (x - mean) r dscale/M) = a dy + (b (x - mean) + c), coefficients per channel.
Values mpc::decompose(graph::BatchNormGradOp op, GraphFormula f) {
  Channels c{f, f.up(op.getX()), int64_t(op.getAxis())};
  Value dy = f.up(op.getDy()), centred = f.sub(c.x, c.spread(op.getMean()));
  Value r = inverseDeviation(f, op.getVariance(), op.getEpsilon().convertToDouble());
  Value dbias = c.sum(dy), dscale = f.mul(c.sum(f.mul(dy, centred)), r);
  Value a = f.mul(op.getScale(), r), perElement = f.div(a, f.scalar(a, -c.perChannel()));
  Value slope = f.mul(perElement, f.mul(r, dscale)), offset = f.mul(perElement, dbias);
  Value dx = f.add(f.mul(dy, c.spread(a)), f.add(f.mul(centred, c.spread(slope)), c.spread(offset)));
  return {f.down(dx, graph::elementOf(op.getDx())), dscale, dbias};
}
