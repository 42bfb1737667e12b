//===- Math.cpp - VJPs of elementwise functions of one operand ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dx = dy * f'(x), with f' from DLMF 4.20, 4.21, 4.38 (elementary) and 7.2 (erf) unless stated.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Sets the gradient to dy * slope, where the slope is in the compute type.
static LogicalResult scaled(VjpContext &ctx, const GraphBuilder &f, Value slope) {
  ctx.set(0, f.mul(f.up(ctx.cotangent()), slope));
  return success();
}

/// |x|' = sign(x), 0 at 0 (torch). The product with dy is exact.
LogicalResult AbsOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  ctx.set(0, f.mul(ctx.cotangent(), f.create<SignOp>(getX())));
  return success();
}

/// (-x)' = -1
LogicalResult NegOp::buildVjp(VjpContext &ctx) {
  ctx.set(0, GraphBuilder(ctx).neg(ctx.cotangent()));
  return success();
}

/// (e^x)' = e^x = y
LogicalResult ExpOp::buildVjp(VjpContext &ctx) {
  ctx.set(0, GraphBuilder(ctx).mul(ctx.cotangent(), getY()));
  return success();
}

/// (log x)' = 1/x
LogicalResult LogOp::buildVjp(VjpContext &ctx) {
  ctx.set(0, GraphBuilder(ctx).div(ctx.cotangent(), getX()));
  return success();
}

/// (sqrt x)' = 1/(2 sqrt x) = 1/(2y); it is infinite at 0, as in torch.
LogicalResult SqrtOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value twice = f.mul(f.up(getY()), 2.0);
  ctx.set(0, f.div(f.up(ctx.cotangent()), twice));
  return success();
}

/// (x^-1/2)' = -1/2 x^-3/2 = -y^3/2
LogicalResult RsqrtOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value y = f.up(getY());
  return scaled(ctx, f, f.mul(f.mul(f.square(y), y), -0.5));
}

/// (1/x)' = -1/x^2 = -y^2
LogicalResult ReciprocalOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.neg(f.square(f.up(getY()))));
}

/// sin' = cos
LogicalResult SinOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.create<CosOp>(f.up(getX())));
}

/// cos' = -sin
LogicalResult CosOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.neg(f.create<SinOp>(f.up(getX()))));
}

/// tan' = 1 + tan^2
LogicalResult TanOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.add(f.square(f.up(getY())), 1.0));
}

/// asin' = 1/sqrt(1 - x^2)
LogicalResult AsinOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.rsqrt(f.sub(1.0, f.square(f.up(getX())))));
}

/// acos' = -1/sqrt(1 - x^2)
LogicalResult AcosOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.neg(f.rsqrt(f.sub(1.0, f.square(f.up(getX()))))));
}

/// atan' = 1/(1 + x^2)
LogicalResult AtanOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value divisor = f.add(f.square(f.up(getX())), 1.0);
  ctx.set(0, f.div(f.up(ctx.cotangent()), divisor));
  return success();
}

/// sinh' = cosh
LogicalResult SinhOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.create<CoshOp>(f.up(getX())));
}

/// cosh' = sinh
LogicalResult CoshOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.create<SinhOp>(f.up(getX())));
}

/// asinh' = 1/sqrt(x^2 + 1)
LogicalResult AsinhOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.rsqrt(f.add(f.square(f.up(getX())), 1.0)));
}

/// acosh' = 1/sqrt(x^2 - 1)
LogicalResult AcoshOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.rsqrt(f.sub(f.square(f.up(getX())), 1.0)));
}

/// atanh' = 1/(1 - x^2)
LogicalResult AtanhOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value divisor = f.sub(1.0, f.square(f.up(getX())));
  ctx.set(0, f.div(f.up(ctx.cotangent()), divisor));
  return success();
}

/// erf' = 2/sqrt(pi) e^(-x^2)
LogicalResult ErfOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.mul(f.exp(f.neg(f.square(f.up(getX())))), 2.0 / std::sqrt(M_PI)));
}

/// tanh' = 1 - tanh^2 = 1 - y^2
LogicalResult TanhOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.sub(1.0, f.square(f.up(getY()))));
}

/// sigmoid' = y (1 - y)
LogicalResult SigmoidOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value y = f.up(getY());
  return scaled(ctx, f, f.mul(y, f.sub(1.0, y)));
}

/// softplus' = sigmoid
LogicalResult SoftplusOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.create<SigmoidOp>(f.up(getX())));
}

/// softsign' = 1 / (1 + |x|)^2. The rule for quotients would subtract two numbers that are nearly equal
/// where |x| is large.
LogicalResult SoftsignOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, f.square(f.create<ReciprocalOp>(f.add(f.abs(f.up(getX())), 1.0))));
}

/// phi(x) = e^(-x^2/2)/sqrt(2 pi), the density of a standard normal variable. The exponential is written as the kernel
/// of Phi writes it, so that a kernel of both computes it once.
static Value normalDensity(const GraphBuilder &f, Value x) {
  return f.mul(f.exp(f.mul(f.square(x), -0.5)), 1.0 / std::sqrt(2.0 * M_PI));
}

/// Phi' = phi
LogicalResult NormalCdfOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  return scaled(ctx, f, normalDensity(f, f.up(getX())));
}

/// gelu' = Phi(x) + x phi(x). The tanh form is x s with s = sigmoid(v) = (1 + tanh(v/2))/2, where v = 2 sqrt(2/pi)(x +
/// a x^3) and a = 0.044715 (Hendrycks & Gimpel 2016; ONNX Gelu-20): its derivative is s (1 + x (1 - s) v'), v' = 2
/// sqrt(2/pi)(1 + 3 a x^2).
LogicalResult GeluOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value x = f.up(getX());
  if (!getApproximate()) {
    Value density = normalDensity(f, x), cdf = f.create<NormalCdfOp>(x);
    return scaled(ctx, f, f.add(cdf, f.mul(x, density)));
  }
  const double a = 0.044715, k = 2 * std::sqrt(2.0 / M_PI);
  Value x2 = f.square(x), s = f.create<SigmoidOp>(f.mul(f.mul(x, f.add(f.mul(x2, a), 1.0)), k));
  Value dv = f.mul(f.add(f.mul(x2, 3.0 * a), 1.0), k), rest = f.mul(x, f.sub(1.0, s));
  return scaled(ctx, f, f.mul(s, f.add(f.mul(rest, dv), 1.0)));
}

/// swish' = s (1 + alpha x (1 - s)), with s = sigmoid(alpha x) (Elfwing et al. 2018, equation 15).
LogicalResult SwishOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  const double alpha = getAlpha().convertToDouble();
  Value x = f.up(getX()), scaledX = alpha == 1 ? x : f.mul(x, alpha), s = f.create<SigmoidOp>(scaledX);
  return scaled(ctx, f, f.mul(s, f.add(f.mul(scaledX, f.sub(1.0, s)), 1.0)));
}

/// The VJP of a cast is a cast, and `set` is one: this is how weight gradients reach fp32 masters.
LogicalResult CastOp::buildVjp(VjpContext &ctx) {
  ctx.set(0, ctx.cotangent());
  return success();
}
