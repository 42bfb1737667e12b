//===- ComposedSwish.cpp - swish that is written out -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x sigmoid(alpha x), which exporters write for SiLU (alpha 1) and for QuickGELU (alpha 1.702). As one op it saves x
// alone for the backward pass, and in 16 bits it is rounded once, as in PyTorch.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Simplify/Recognizers.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

struct ComposedSwish : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [x, gate] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto sigmoid = gate.getDefiningOp<SigmoidOp>();
      // A sigmoid that something else reads is computed anyway.
      if (!sigmoid || !gate.hasOneUse() || x.getType() != op.getType())
        continue;
      std::optional<double> alpha = factorOf(sigmoid.getX(), x);
      if (!alpha)
        continue;
      rewriter.replaceOpWithNewOp<SwishOp>(op, op.getType(), x, rewriter.getF64FloatAttr(*alpha));
      return success();
    }
    return failure();
  }

private:
  /// Returns the number that times x is v; nullopt where v is something else.
  static std::optional<double> factorOf(Value v, Value x) {
    if (v == x)
      return 1;
    auto mul = v.getDefiningOp<MulOp>();
    if (!mul || v.getType() != x.getType())
      return std::nullopt;
    return mul.getLhs() == x ? splatNumber(mul.getRhs()) : mul.getRhs() == x ? splatNumber(mul.getLhs()) : std::nullopt;
  }
};

} // namespace

void simplify::populateComposedSwish(RewritePatternSet &patterns) {
  patterns.add<ComposedSwish>(patterns.getContext());
}
