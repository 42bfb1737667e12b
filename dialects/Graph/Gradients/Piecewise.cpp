//===- Piecewise.cpp - VJPs of piecewise functions, selection and dropout ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that only select elements of dy are exact, so they compute in the operand's own type. Conventions at
// kinks are torch's.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// relu' = [y > 0]: 0 at 0 (torch). The formula needs the result only, which the next op saves anyway.
LogicalResult ReluOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  ctx.set(0, f.select(f.compare(Predicate::gt, getY(), 0.0), ctx.cotangent(), 0.0));
  return success();
}

/// leaky_relu' = 1 where x > 0, else alpha. For alpha >= 0 the result has the sign of x where that matters
/// (y > 0 iff x > 0).
LogicalResult LeakyReluOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value sign = getAlpha().isNegative() ? getX() : getY();
  Value dy = f.up(ctx.cotangent()), below = f.mul(dy, getAlpha().convertToDouble());
  ctx.set(0, f.select(f.compare(Predicate::gt, sign, 0.0), dy, below));
  return success();
}

/// prelu' = 1 where x > 0, else the slope, also at 0 (torch); the derivative with respect to the slope is 0
/// where x > 0, else x.
LogicalResult PReluOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value dy = f.up(ctx.cotangent()), x = f.up(getX());
  Value positive = f.compare(Predicate::gt, x, 0.0);
  if (ctx.needs(0))
    ctx.set(0, f.select(positive, dy, f.mul(dy, f.up(getSlope()))));
  if (ctx.needs(1))
    ctx.set(1, f.select(positive, 0.0, f.mul(dy, x)));
  return success();
}

/// elu' = 1 where x > 0, else alpha e^x (Clevert et al. 2015, eq. 15). The exponent is clamped so that the branch not
/// taken stays finite.
LogicalResult EluOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value dy = f.up(ctx.cotangent()), x = f.up(getX());
  Value below = f.mul(dy, f.mul(f.exp(f.min(x, 0.0)), getAlpha().convertToDouble()));
  ctx.set(0, f.select(f.compare(Predicate::gt, x, 0.0), dy, below));
  return success();
}

/// hard_sigmoid' = alpha where 0 < alpha x + beta < 1, else 0.
LogicalResult HardSigmoidOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  double alpha = getAlpha().convertToDouble();
  Value t = f.add(f.mul(f.up(getX()), alpha), getBeta().convertToDouble());
  Value below = f.compare(Predicate::lt, t, 1.0);
  Value inside = f.both(f.compare(Predicate::gt, t, 0.0), below);
  ctx.set(0, f.select(inside, f.mul(f.up(ctx.cotangent()), alpha), 0.0));
  return success();
}

/// hard_swish' = 0 for x <= -3, 1 for x >= 3, x/3 + 1/2 between (Howard et al. 2019, section 5.2).
LogicalResult HardSwishOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value dy = f.up(ctx.cotangent()), x = f.up(getX());
  Value middle = f.mul(dy, f.add(f.div(x, 3.0), 0.5));
  Value upper = f.select(f.compare(Predicate::lt, x, 3.0), middle, dy);
  ctx.set(0, f.select(f.compare(Predicate::gt, x, -3.0), upper, 0.0));
  return success();
}

/// clip' = 1 where min < x < max, else 0, also at the bounds (torch.clamp, ReLU6 and Hardtanh since 2.15).
LogicalResult ClipOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value grad = ctx.cotangent();
  // The bounds are compared in the compute type: they need not be representable in x's.
  Value x = f.up(getX());
  if (!getMax().isPosInfinity())
    grad = f.select(f.compare(Predicate::lt, x, getMax().convertToDouble()), grad, 0.0);
  if (!getMin().isNegInfinity())
    grad = f.select(f.compare(Predicate::gt, x, getMin().convertToDouble()), grad, 0.0);
  ctx.set(0, grad);
  return success();
}

/// select(c, a, b): da = dy where c, db = dy where not c.
LogicalResult SelectOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  if (ctx.needs(1))
    ctx.set(1, f.select(getCondition(), ctx.cotangent(), 0.0));
  if (ctx.needs(2))
    ctx.set(2, f.select(getCondition(), 0.0, ctx.cotangent()));
  return success();
}

/// y = m*x, where the mask m (0 or 1/(1 - ratio)) is a function of seed, step and salt: dx = m*dy.
LogicalResult DropoutOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).create<DropoutOp>(getType(), ctx.cotangent(), getSeed(), getStep(), getRatioAttr(),
                                                   getSaltAttr(), getSharedAttr()));
  return success();
}
