//===- Tensor.cpp - VJPs of data movement ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op is linear, and its VJP is its transpose: elements that were moved are moved back, and the cotangents of
// copies are summed.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

LogicalResult ReshapeOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).reshape(ctx.cotangent(), shapeOf(getX())));
  return success();
}

LogicalResult BarrierOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, ctx.cotangent());
  return success();
}

/// dx is dy under the inverse permutation.
LogicalResult TransposeOp::buildVjp(VjpContext &ctx) {
  Shape inverse(getPermutation().size());
  for (auto [i, p] : llvm::enumerate(getPermutation()))
    inverse[p] = i;
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).transpose(ctx.cotangent(), inverse));
  return success();
}

/// `set` sums over the broadcast dimensions.
LogicalResult BroadcastOp::buildVjp(VjpContext &ctx) {
  ctx.set(0, ctx.cotangent());
  return success();
}

/// Each input takes its slice of dy.
LogicalResult ConcatOp::buildVjp(VjpContext &ctx) {
  int64_t rank = typeOf(getResult()).getRank(), axis = getAxis();
  Shape starts(rank, 0), ones(rank, 1);
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    if (ctx.needs(i))
      ctx.set(i, GraphBuilder(ctx).slice(ctx.cotangent(), starts, shapeOf(input), ones));
    starts[axis] += shapeOf(input)[axis];
  }
  return success();
}

/// dx has the elements of dy back at their places among zeros, which is an (interior) padding. Where a stride is
/// negative dy is reversed first.
LogicalResult SliceOp::buildVjp(VjpContext &ctx) {
  if (!ctx.needs(0))
    return success();
  GraphBuilder f(ctx);
  int64_t rank = typeOf(getX()).getRank();
  ArrayRef<int64_t> sizes = getSizes();
  Shape reverseStarts(rank, 0), reverseStrides(rank, 1), low(rank), high(rank), interior(rank);
  bool reverse = false;
  for (int64_t i = 0; i < rank; ++i) {
    // One element takes no step, so its stride may be any number.
    int64_t start = getStarts()[i], stride = sizes[i] == 1 ? 1 : getStrides()[i], extent = shapeOf(getX())[i];
    if (sizes[i] == 0) { // nothing was taken: dx is zero
      high[i] = extent;
      continue;
    }
    if (stride < 0) {
      reverse = true;
      reverseStarts[i] = sizes[i] - 1;
      reverseStrides[i] = -1;
      start += (sizes[i] - 1) * stride;
      stride = -stride;
    }
    low[i] = start;
    high[i] = extent - start - (sizes[i] - 1) * stride - 1;
    interior[i] = stride - 1;
  }
  Value dy = ctx.cotangent();
  if (reverse)
    dy = f.slice(dy, reverseStarts, sizes, reverseStrides);
  ctx.set(0, f.padZeros(dy, low, high, interior));
  return success();
}

/// dx takes the elements of dy from where those of x went, which is a slice. Elements that were cropped away take
/// zeros, which are padded on first.
LogicalResult PadOp::buildVjp(VjpContext &ctx) {
  if (!ctx.needs(0))
    return success();
  GraphBuilder f(ctx);
  int64_t rank = typeOf(getX()).getRank();
  Shape low(rank), high(rank), none(rank, 0), starts(rank), strides(rank);
  bool cropped = false;
  for (int64_t i = 0; i < rank; ++i) {
    low[i] = std::max<int64_t>(-getLow()[i], 0);
    high[i] = std::max<int64_t>(-getHigh()[i], 0);
    cropped |= low[i] > 0 || high[i] > 0;
    starts[i] = std::max<int64_t>(getLow()[i], 0);
    strides[i] = getInterior()[i] + 1;
  }
  Value dy = ctx.cotangent();
  if (cropped)
    dy = f.padZeros(dy, low, high, none);
  ctx.set(0, f.slice(dy, starts, shapeOf(getX()), strides));
  return success();
}

/// dx is the sum of the rows of dy that read each row of x.
LogicalResult GatherOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).create<ScatterOp>(typeOf(getX()), ctx.cotangent(), getIndices(), getAxis()));
  return success();
}
/// Each update gets the cotangent of its place: of a sum as it is; of a maximum or minimum the share of those that
/// equal it; of a product times the other factors, which is q/u where none is 0, q is the product of those that are not
/// 0.
LogicalResult ScatterOp::buildVjp(VjpContext &ctx) {
  if (!ctx.needs(0))
    return success();
  GraphBuilder f(ctx);
  auto here = [&](Value y) -> Value { return f.create<GatherOp>(y, getIndices(), getAxisAttr()); };
  auto there = [&](Value updates, ScatterMode mode) -> Value {
    return f.create<ScatterOp>(typeOf(getY()).clone(elementOf(updates)), updates, getIndices(), getAxis(), mode);
  };
  if (getMode() == ScatterMode::add)
    return ctx.set(0, here(ctx.cotangent())), success();
  Value u = f.up(getUpdates()), dy = f.up(ctx.cotangent());
  if (getMode() != ScatterMode::multiply) {
    Value taken = f.cast(f.compare(Predicate::eq, getUpdates(), here(getY())), elementOf(u));
    Value share = f.div(dy, f.max(there(taken, ScatterMode::add), 1));
    return ctx.set(0, f.mul(taken, here(share))), success();
  }
  Value isZero = f.compare(Predicate::eq, u, 0.0);
  Value zeros = here(there(f.cast(isZero, elementOf(u)), ScatterMode::add));
  Value safe = f.select(isZero, 1.0, u);
  Value q = here(there(safe, ScatterMode::multiply));
  Value atZero = f.select(f.compare(Predicate::eq, zeros, 1.0), q, 0.0);
  Value others = f.div(q, safe);
  Value elsewhere = f.select(f.compare(Predicate::eq, zeros, 0.0), others, 0.0);
  ctx.set(0, f.mul(here(dy), f.select(isZero, atZero, elsewhere)));
  return success();
}

/// The VJP is the transpose of the interpolation, which is an op of its own.
LogicalResult ResizeOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).create<ResizeGradOp>(typeOf(getX()), ctx.cotangent(), getModeAttr(), getScalesAttr(),
                                                      getOffsetsAttr(), getNearestBiasAttr(), getNearestCeilAttr()));
  return success();
}
LogicalResult ResizeGradOp::buildVjp(VjpContext &ctx) {
  if (ctx.needs(0))
    ctx.set(0, GraphBuilder(ctx).create<ResizeOp>(typeOf(getDy()), ctx.cotangent(), getModeAttr(), getScalesAttr(),
                                                  getOffsetsAttr(), getNearestBiasAttr(), getNearestCeilAttr()));
  return success();
}
