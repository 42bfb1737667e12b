//===- Reduce.cpp - VJPs of reductions ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Reshapes v, which has a reduction's result shape, so that the reduced dimensions are back with size 1.
static Value keepDims(const GraphBuilder &f, Value x, ArrayRef<int64_t> axes, Value v) {
  return f.reshape(v, reducedShape(shapeOf(x), axes, /*keepdims=*/true));
}

/// Returns how many elements each result element combines.
static double countOf(Value x, ArrayRef<int64_t> axes) {
  double n = 1;
  for (int64_t axis : axes)
    n *= double(shapeOf(x)[axis]);
  return n;
}

/// y = sum x: dx = dy, broadcast.
LogicalResult ReduceSumOp::buildVjp(VjpContext &ctx) {
  ctx.set(0, keepDims(GraphBuilder(ctx), getX(), getAxes(), ctx.cotangent()));
  return success();
}

/// y = sum x / n: dx = dy/n, divided before the broadcast. n may exceed the largest f16, so the division is in
/// the compute type.
LogicalResult ReduceMeanOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value dy = f.div(f.up(ctx.cotangent()), countOf(getX(), getAxes()));
  // Rounding before the broadcast gives the same values and leaves less to cast.
  dy = f.cast(dy, elementOf(getX()));
  ctx.set(0, keepDims(f, getX(), getAxes(), dy));
  return success();
}

/// y = sqrt(sum x^2): dx = dy x/y, and 0 where y is 0 (torch.linalg.vector_norm).
LogicalResult ReduceL2Op::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  Value y = f.up(keepDims(f, getX(), getAxes(), getY())), dy = f.up(keepDims(f, getX(), getAxes(), ctx.cotangent()));
  Value isZero = f.compare(Predicate::eq, y, 0.0);
  Value slope = f.select(isZero, 0.0, f.div(dy, f.select(isZero, 1.0, y)));
  ctx.set(0, f.mul(f.up(getX()), slope));
  return success();
}

/// dx = dy/k at the k elements that equal the extremum, 0 elsewhere (torch.amax).
static LogicalResult extremum(VjpContext &ctx, Value x, Value y, ArrayRef<int64_t> axes) {
  GraphBuilder f(ctx);
  Value hit = f.compare(Predicate::eq, x, keepDims(f, x, axes, y));
  Value count = f.sum(f.cast(hit, computeType(elementOf(x))), axes, /*keepdims=*/true);
  Value share = f.div(f.up(keepDims(f, x, axes, ctx.cotangent())), count);
  ctx.set(0, f.select(hit, share, 0.0));
  return success();
}
LogicalResult ReduceMaxOp::buildVjp(VjpContext &ctx) { return extremum(ctx, getX(), getY(), getAxes()); }
LogicalResult ReduceMinOp::buildVjp(VjpContext &ctx) { return extremum(ctx, getX(), getY(), getAxes()); }

/// dx_i = dy * product of the others. Let q be the product of the elements that are not 0 and z the number of zeros:
/// the others' product is q/x_i for z = 0; q at the zero and 0 elsewhere for z = 1; 0 for z > 1.
LogicalResult ReduceProdOp::buildVjp(VjpContext &ctx) {
  GraphBuilder f(ctx);
  ArrayRef<int64_t> axes = getAxes();
  Value x = f.up(getX());
  Value isZero = f.compare(Predicate::eq, x, 0.0);
  Value zeros = f.sum(f.cast(isZero, elementOf(x)), axes, /*keepdims=*/true);
  Value safe = f.select(isZero, 1.0, x);
  Value q = f.create<ReduceProdOp>(safe, axes, /*keepdims=*/true);
  Value atZero = f.select(f.compare(Predicate::eq, zeros, 1.0), q, 0.0);
  Value others = f.div(q, safe);
  Value elsewhere = f.select(f.compare(Predicate::eq, zeros, 0.0), others, 0.0);
  Value dy = f.up(keepDims(f, getX(), axes, ctx.cotangent()));
  ctx.set(0, f.mul(dy, f.select(isZero, atZero, elsewhere)));
  return success();
}
