// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Rewrite.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// Two patterns that undo each other.
struct AddToSub : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    return rewriter.replaceOpWithNewOp<SubOp>(op, op.getLhs(), op.getRhs()), success();
  }
};
struct SubToAdd : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    return rewriter.replaceOpWithNewOp<AddOp>(op, op.getLhs(), op.getRhs()), success();
  }
};
/// A pattern that creates more of what it matches.
struct Grow : OpRewritePattern<NegOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NegOp op, PatternRewriter &rewriter) const override {
    Value inner = SqrtOp::create(rewriter, op.getLoc(), NegOp::create(rewriter, op.getLoc(), op.getX()));
    return rewriter.replaceOp(op, inner), success();
  }
};

class Rewriting : public testing::Test {
protected:
  Rewriting() {
    context.loadDialect<GraphDialect, func::FuncDialect>();
    context.printOpOnDiagnostic(false);
  }
  template <typename... Patterns>
  LogicalResult rewrite(const char *body) {
    module = parseSourceString<ModuleOp>(
        std::string("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n") + body + "\n}", &context);
    RewritePatternSet patterns(&context);
    patterns.add<Patterns...>(&context);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      text += locationName(diagnostic.getLocation()) + ": " + diagnostic.str();
      for (Diagnostic &note : diagnostic.getNotes())
        text += " | " + note.str();
      return success();
    });
    return applyWithinBudget(*module, std::move(patterns));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string text;
};

constexpr const char *addition = R"(%y = graph.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum_1")
  return %y : tensor<4xf32>)";

TEST_F(Rewriting, PatternsThatUndoEachOtherAreAnErrorAtTheirOp) {
  EXPECT_TRUE(failed((rewrite<AddToSub, SubToAdd>(addition))));
  EXPECT_NE(text.find("sum_1: the rewrites of this op do not come to an end"), std::string::npos) << text;
  EXPECT_NE(text.find("| hint: "), std::string::npos) << text;
}

TEST_F(Rewriting, APatternThatMakesMoreOfWhatItMatchesIsAnError) {
  EXPECT_TRUE(failed(rewrite<Grow>(R"(%y = graph.neg %x : tensor<4xf32> loc("neg_1")
  return %y : tensor<4xf32>)")));
  EXPECT_NE(text.find("neg_1: "), std::string::npos) << text;
}

TEST_F(Rewriting, PatternsThatSettleSucceed) {
  EXPECT_TRUE(succeeded(rewrite<AddToSub>(addition))) << text;
  EXPECT_FALSE((*module).getBody()->getOperations().front().getRegion(0).front().getOps<SubOp>().empty());
}

} // namespace
