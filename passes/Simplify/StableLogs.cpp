//===- StableLogs.cpp - logarithms of sigmoids and softmaxes ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sigmoid(x) is 0 in fp32 for x < -104 and 1 for x > 17, so its logarithm is -inf or 0 where
// the true value is x or -e^-x, and the gradient is 0/0. The forms below are exact for all x.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Simplify/Recognizers.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// log(sigmoid(x)) = -softplus(-x); log(1 - sigmoid(x)) = -softplus(x); log(1 + e^x) = softplus(x);
/// log(softmax(x)) = log_softmax(x).
struct StableLog : OpRewritePattern<LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogOp op, PatternRewriter &rewriter) const override {
    GraphBuilder b(rewriter, op.getLoc());
    auto softplus = [&](Value x) -> Value { return b.create<SoftplusOp>(x); };
    if (auto sigmoid = op.getX().getDefiningOp<SigmoidOp>()) {
      rewriter.replaceOp(op, b.neg(softplus(b.neg(sigmoid.getX()))));
      return success();
    }
    if (auto softmax = op.getX().getDefiningOp<SoftmaxOp>()) {
      rewriter.replaceOpWithNewOp<LogSoftmaxOp>(op, softmax.getX(), softmax.getAxisAttr());
      return success();
    }
    if (auto difference = op.getX().getDefiningOp<SubOp>(); difference && splatNumber(difference.getLhs()) == 1.0)
      if (auto sigmoid = difference.getRhs().getDefiningOp<SigmoidOp>(); sigmoid && sigmoid.getType() == op.getType()) {
        rewriter.replaceOp(op, b.neg(softplus(sigmoid.getX())));
        return success();
      }
    if (auto sum = op.getX().getDefiningOp<AddOp>())
      for (auto [one, other] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())})
        if (auto exponential = other.getDefiningOp<ExpOp>();
            exponential && splatNumber(one) == 1.0 && exponential.getType() == op.getType()) {
          rewriter.replaceOp(op, softplus(exponential.getX()));
          return success();
        }
    return failure();
  }
};

} // namespace

void simplify::populateStableLogs(RewritePatternSet &patterns) { patterns.add<StableLog>(patterns.getContext()); }
