//===- Binary.cpp - VJPs of broadcasting arithmetic on two operands ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// (a + b): da = dy, db = dy
LogicalResult AddOp::buildVjp(VjpContext &ctx) {
  ctx.set(0, ctx.cotangent());
  ctx.set(1, ctx.cotangent());
  return success();
}

/// (a - b): da = dy, db = -dy
LogicalResult SubOp::buildVjp(VjpContext &ctx) {
  ctx.set(0, ctx.cotangent());
  if (ctx.needs(1))
    ctx.set(1, GraphBuilder(ctx).neg(ctx.cotangent()));
  return success();
}

/// (a b): da = dy b, db = dy a. The product rounds once, so it is computed in the operands' type, unless it is
/// then summed over broadcast dimensions: then the products are computed in the compute type, where products of
/// f16 and bf16 are exact.
LogicalResult MulOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  for (unsigned i : {0u, 1u}) {
    if (!ctx.needs(i))
      continue;
    Value dy = ctx.cotangent(), other = getOperand(1 - i);
    if (shapeOf(getOperand(i)) != shapeOf(dy)) { // it is summed
      other = f.up(other);
      dy = f.up(dy);
    }
    ctx.set(i, f.mul(dy, other));
  }
  return success();
}

/// (a/b): da = dy/b, db = -dy (a/b)/b
LogicalResult DivOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value dy = f.up(ctx.cotangent()), b = f.up(getRhs());
  if (ctx.needs(0))
    ctx.set(0, f.div(dy, b));
  if (ctx.needs(1))
    ctx.set(1, f.neg(f.mul(dy, f.div(f.div(f.up(getLhs()), b), b))));
  return success();
}

/// y = a mod b = a - q b, where the integer q is constant between jumps: da = dy, db = -q dy, q = (a - y)/b.
LogicalResult ModOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  ctx.set(0, ctx.cotangent());
  if (ctx.needs(1)) {
    Value b = f.up(getRhs()), a = f.up(getLhs()), y = f.up(getResult());
    Value minusQ = f.create<RoundOp>(f.div(f.sub(y, a), b));
    ctx.set(1, f.mul(f.up(ctx.cotangent()), minusQ));
  }
  return success();
}

/// (x^p): dx = dy p x^(p-1), 0 where p = 0 (the torch rule: x^0 is constant, also at x = 0);
/// dp = dy y log x where x > 0, else 0: 0^p is 0 for p > 0, and for x < 0 the power exists at isolated p only, so that
/// there is no derivative, and a NaN there would poison the sum of a broadcast exponent.
LogicalResult PowOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value dy = f.up(ctx.cotangent()), x = f.up(getLhs()), p = f.up(getRhs());
  if (ctx.needs(0)) {
    std::optional<double> constant = splatNumber(getRhs());
    if (constant && *constant == 2.0) {
      ctx.set(0, f.mul(dy, f.mul(x, 2.0)));
    } else if (constant && *constant == 3.0) {
      ctx.set(0, f.mul(dy, f.mul(f.square(x), 3.0)));
    } else if (constant && *constant != 0.0) {
      Value power = f.create<PowOp>(x, f.constant(x, *constant - 1.0));
      ctx.set(0, f.mul(dy, f.mul(power, *constant)));
    } else {
      Value dx = f.mul(dy, f.mul(p, f.create<PowOp>(x, f.sub(p, 1.0))));
      ctx.set(0, f.select(f.compare(Predicate::eq, p, 0.0), 0.0, dx));
    }
  }
  if (ctx.needs(1)) {
    Value positive = f.compare(Predicate::gt, x, 0.0);
    Value log = f.log(f.select(positive, x, 1.0));
    ctx.set(1, f.select(positive, f.mul(dy, f.mul(f.up(getResult()), log)), 0.0));
  }
  return success();
}

/// min and max: dy goes to the operand that is chosen; where both are equal each takes half (torch.maximum).
static LogicalResult extremum(VjpContext &ctx, Value lhs, Value rhs, Predicate loses) {
  GraphBuilder f(ctx);
  Value dy = ctx.cotangent(), half = f.mul(dy, 0.5);
  Value shared = f.select(f.compare(Predicate::eq, lhs, rhs), half, dy);
  if (ctx.needs(0))
    ctx.set(0, f.select(f.compare(loses, lhs, rhs), 0.0, shared));
  if (ctx.needs(1))
    ctx.set(1, f.select(f.compare(loses, rhs, lhs), 0.0, shared));
  return success();
}
LogicalResult MinOp::buildVjp(VjpContext &ctx) { return extremum(ctx, getLhs(), getRhs(), Predicate::gt); }
LogicalResult MaxOp::buildVjp(VjpContext &ctx) { return extremum(ctx, getLhs(), getRhs(), Predicate::lt); }
