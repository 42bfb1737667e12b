//===- Normalization.cpp - VJPs of normalisations and softmax ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// The formulas are those of Ioffe & Szegedy 2015, section 3. One op computes all three cotangents, because dx needs
/// dscale and dbias. The batch statistics are results that feed the running statistics only; a loss that depends on
/// them is not supported.
LogicalResult BatchNormOp::buildVjp(VjpContext &ctx) {
  if (ctx.cotangent(1) || ctx.cotangent(2))
    return emitErrorWithHint(getLoc(), "'graph.batch_norm' has no gradient through its batch mean and variance",
                             "use its first output only on the path to the loss");
  auto grad = GraphBuilder(ctx).create<BatchNormGradOp>(getX(), getScale(), getMean(), getVariance(), ctx.cotangent(0),
                                                        getEpsilonAttr(), getAxisAttr());
  ctx.set(0, grad.getDx());
  ctx.set(1, grad.getDscale());
  ctx.set(2, grad.getDbias());
  return success();
}

/// With r = 1/sqrt(variance + eps), xc = x - mean and sums over all dimensions but the channel's: dx = dy scale r,
/// dscale = sum(dy xc) r, dbias = sum dy, dmean = -sum(dy) scale r, dvariance = -1/2 sum(dy xc) scale r^3.
LogicalResult BatchNormInferenceOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  int64_t rank = typeOf(getX()).getRank(), axis = getAxis();
  Shape perChannel(rank, 1), others;
  perChannel[axis] = shapeOf(getX())[axis];
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      others.push_back(i);
  auto spread = [&](Value v) { return f.reshape(v, perChannel); };
  auto reduce = [&](Value v) { return f.reshape(f.sum(v, others, /*keepdims=*/true), shapeOf(getScale())); };

  Value dy = f.up(ctx.cotangent());
  Value r = f.rsqrt(f.add(getVariance(), getEpsilon().convertToDouble()));
  if (ctx.needs(0))
    ctx.set(0, f.mul(dy, spread(f.mul(getScale(), r))));
  Value sumDy, sumDyX;
  if (ctx.needs(2) || ctx.needs(3))
    sumDy = reduce(dy);
  if (ctx.needs(1) || ctx.needs(4)) {
    Value mean = spread(getMean());
    sumDyX = reduce(f.mul(dy, f.sub(f.up(getX()), mean)));
  }
  if (ctx.needs(1))
    ctx.set(1, f.mul(sumDyX, r));
  if (ctx.needs(2))
    ctx.set(2, sumDy);
  if (ctx.needs(3))
    ctx.set(3, f.neg(f.mul(sumDy, f.mul(getScale(), r))));
  if (ctx.needs(4)) {
    Value slope = f.mul(f.mul(f.square(r), r), -0.5);
    ctx.set(4, f.mul(f.mul(sumDyX, getScale()), slope));
  }
  return success();
}

/// One op computes all cotangents that come through y, because that of x needs sums of the others' terms. Where the
/// loss depends on the statistics, they contribute too: E[x] gives dmean/n to each of the n elements, and inverse =
/// (E[(x - mean)^2] + eps)^(-1/2) gives -dinverse inverse^3 (x - mean)/n.
LogicalResult LayerNormOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  if (ctx.cotangent(2) && getKind() == NormKind::l2)
    return emitErrorWithHint(getLoc(), "'graph.layer_norm' of kind l2 has no gradient through its norm",
                             "use its first output only on the path to the loss");
  Value dx;
  if (Value dy = ctx.cotangent(0)) {
    auto grad = f.create<LayerNormGradOp>(getX(), getScale(), getBias(), getMean(), getInverse(), dy, getAxesAttr(),
                                          getEpsilonAttr(), getKindAttr());
    dx = grad.getDx();
    ctx.set(1, grad.getDscale());
    ctx.set(2, grad.getDbias());
  }
  double count = 1;
  for (int64_t axis : getAxes())
    count *= double(shapeOf(getX())[axis]);
  auto add = [&](Value term) { dx = dx ? f.add(f.up(dx), term) : term; };
  if (Value dmean = ctx.cotangent(1); dmean && getKind() == NormKind::layer)
    add(f.broadcast(f.div(dmean, count), shapeOf(getX())));
  if (Value dinverse = ctx.cotangent(2)) {
    Value cube = f.mul(f.square(getInverse()), getInverse());
    Value factor = f.mul(f.mul(dinverse, cube), -1.0 / count);
    add(f.mul(f.sub(f.up(getX()), getMean()), factor));
  }
  if (dx)
    ctx.set(0, dx);
  return success();
}

LogicalResult GroupNormOp::buildVjp(VjpContext &ctx) {
  if (ctx.cotangent(1) || ctx.cotangent(2))
    return emitErrorWithHint(getLoc(), "'graph.group_norm' has no gradient through its statistics",
                             "use its first output only on the path to the loss");
  auto grad = GraphBuilder(ctx).create<GroupNormGradOp>(getX(), getScale(), getMean(), getInverse(), ctx.cotangent(0),
                                                        getEpsilonAttr(), getAxisAttr(), getGroupsAttr());
  ctx.set(0, grad.getDx());
  ctx.set(1, grad.getDscale());
  ctx.set(2, grad.getDbias());
  return success();
}

/// dy_i/dx_j = y_i ([i = j] - y_j), so dx = y (dy - sum(dy y)) along the axis.
LogicalResult SoftmaxOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value y = f.up(getY()), dy = f.up(ctx.cotangent());
  ctx.set(0, f.mul(y, f.sub(dy, f.sum(f.mul(dy, y), {int64_t(getAxis())}, /*keepdims=*/true))));
  return success();
}

/// dy_i/dx_j = [i = j] - softmax_j, so dx = dy - e^y sum(dy) along the axis.
LogicalResult LogSoftmaxOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value y = f.up(getY()), dy = f.up(ctx.cotangent());
  Value total = f.sum(dy, {int64_t(getAxis())}, /*keepdims=*/true);
  ctx.set(0, f.sub(dy, f.mul(f.exp(y), total)));
  return success();
}
