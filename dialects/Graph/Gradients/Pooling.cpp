//===- Pooling.cpp - VJPs of pooling ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// dy goes to the element that was the window's maximum.
LogicalResult MaxPoolOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).create<MaxPoolGradOp>(getX().getType(), ctx.cotangent(), getArgmax(), getKernelAttr(),
                                                       getStridesAttr(), getDilationsAttr(), getPadLowAttr(),
                                                       getPadHighAttr(), getLayoutAttr()));
  return success();
}

/// The transpose of a scatter is a gather: each window takes the element at its argmax from the cotangent of dx. There
/// is no op for that, and only second derivatives need it, so it is built as a select over the window's positions, each
/// of which is a strided slice.
LogicalResult MaxPoolGradOp::buildVjp(VjpContext &ctx) {
  if (!ctx.needs(0))
    return success();
  GraphBuilder f(ctx);
  ArrayRef<int64_t> in = shapeOf(getDx()), out = shapeOf(getDy());
  int64_t rank = in.size(), spatial = rank - 2, s = spatialAxis(getLayout());

  // Zeros are added around, so that every position of every window exists (the last windows of
  // ceil_mode reach further).
  Shape low(rank, 0), high(rank, 0), none(rank, 0), strides(rank, 1);
  int64_t positions = 1;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t reach = (out[s + i] - 1) * getStrides()[i] + getDilations()[i] * (getKernel()[i] - 1) + 1;
    low[s + i] = getPadLow()[i];
    high[s + i] = std::max<int64_t>(reach - in[s + i] - getPadLow()[i], 0);
    strides[s + i] = getStrides()[i];
    positions *= getKernel()[i];
  }
  Value g = f.padZeros(ctx.cotangent(), low, high, none);
  Value taken = f.constant(g, 0);
  for (int64_t position = 0; position < positions; ++position) {
    Shape starts(rank, 0);
    for (int64_t i = spatial - 1, rest = position; i >= 0; rest /= getKernel()[i], --i)
      starts[s + i] = rest % getKernel()[i] * getDilations()[i];
    Value elements = f.slice(g, starts, out, strides);
    taken = f.select(f.compare(Predicate::eq, getArgmax(), double(position)), elements, taken);
  }
  ctx.set(0, taken);
  return success();
}

/// avg_pool is linear; its transpose is an op of its own, and the transpose of that is avg_pool.
LogicalResult AvgPoolOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).create<AvgPoolGradOp>(
                   getX().getType(), ctx.cotangent(), getKernelAttr(), getStridesAttr(), getDilationsAttr(),
                   getPadLowAttr(), getPadHighAttr(), getLayoutAttr(), getCountIncludePadAttr(), getCeilModeAttr()));
  return success();
}
LogicalResult AvgPoolGradOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).create<AvgPoolOp>(ctx.cotangent(), getKernelAttr(), getStridesAttr(),
                                                   getDilationsAttr(), getPadLowAttr(), getPadHighAttr(),
                                                   getLayoutAttr(), getCountIncludePadAttr(), getCeilModeAttr()));
  return success();
}
