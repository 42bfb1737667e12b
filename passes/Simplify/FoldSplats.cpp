//===- FoldSplats.cpp - arithmetic on constants ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Simplify/FoldSplats.h"
#include "dialects/Graph/IR/Shapes.h"
#include <cmath>
#include <functional>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// Folds op(splat, splat) where the operation is correctly rounded: + - * / and sqrt. Computing these in double and
/// rounding to float gives the same as computing in float (double rounding is harmless from 53 to 24 bits), so no
/// fp32 path is needed.
template <typename OpT, typename Function>
struct FoldBinary : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpT op, PatternRewriter &rewriter) const override {
    std::optional<double> x = splatNumber(op.getLhs()), y = splatNumber(op.getRhs());
    if (!x || !y)
      return failure();
    double result = Function()(*x, *y);
    // A low-precision result rounds the fp32 value.
    if (!elementOf(op.getResult()).isF64())
      result = double(float(result));
    rewriter.replaceOp(op, splat(rewriter, op.getLoc(), typeOf(op.getResult()), result));
    return success();
  }
};

struct FoldSqrt : OpRewritePattern<SqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SqrtOp op, PatternRewriter &rewriter) const override {
    std::optional<double> x = splatNumber(op.getX());
    if (!x || *x < 0)
      return failure();
    double result = std::sqrt(*x);
    if (!elementOf(op.getY()).isF64())
      result = double(float(result));
    rewriter.replaceOp(op, splat(rewriter, op.getLoc(), typeOf(op.getY()), result));
    return success();
  }
};

} // namespace

void simplify::populateFoldSplats(RewritePatternSet &patterns) {
  patterns.add<FoldBinary<AddOp, std::plus<double>>, FoldBinary<SubOp, std::minus<double>>,
               FoldBinary<MulOp, std::multiplies<double>>, FoldBinary<DivOp, std::divides<double>>, FoldSqrt>(
      patterns.getContext());
}
