//===- Views.cpp - casts move through views to where they store the smaller type ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A view stands between two launches, so its operand is in memory. With a cast on the side where the type is larger, a
// launch would do nothing but widen or narrow a tensor. A cast between types of one size moves like one that widens.
//
//   reshape(cast x : f16 to f32) -> cast(reshape x) : f16 to f32
//   cast(reshape y) : f32 to f16 -> reshape(cast y : f32 to f16)
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Storage.h"
#include "passes/Decompose/Patterns.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
struct WidenBehindView : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto cast = op.getX().getDefiningOp<CastOp>();
    if (!cast || !isWideningCast(cast))
      return failure();
    GraphBuilder m(rewriter, cast.getLoc());
    rewriter.replaceOp(op, m.cast(m.reshape(cast.getX(), shapeOf(op.getResult())), elementOf(cast.getY())));
    return success();
  }
};

struct NarrowBeforeView : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto view = op.getX().getDefiningOp<ReshapeOp>();
    if (!view || isWideningCast(op))
      return failure();
    GraphBuilder m(rewriter, op.getLoc());
    rewriter.replaceOp(op, m.reshape(m.cast(view.getX(), elementOf(op.getY())), shapeOf(op.getY())));
    return success();
  }
};
} // namespace

void mpc::populateViewPatterns(RewritePatternSet &patterns) {
  patterns.add<WidenBehindView, NarrowBeforeView>(patterns.getContext());
}
