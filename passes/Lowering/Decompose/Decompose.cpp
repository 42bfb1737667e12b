//===- Decompose.cpp - composite graph ops become primitive ones ----------------===//
#include "passes/Lowering/Decompose/Passes.h"
#include "passes/Lowering/Decompose/Patterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "passes/Lowering/Decompose/Passes.h.inc"
} // namespace mpc

namespace {

/// mean(x) = sum(x) / n, in fp32 at least.
struct DecomposeMean : OpRewritePattern<ReduceMeanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceMeanOp op, PatternRewriter &rewriter) const override {
    if (!isFloat(op.getX()))
      return failure();
    Type element = elementOf(op.getX());
    Arithmetic m{rewriter, op.getLoc(), computeType(element)};
    int64_t count = 1;
    for (int64_t axis : op.getAxes())
      count *= shapeOf(op.getX())[axis];
    Value sum = m.sum(m.widen(op.getX()), op.getAxes(), op.getKeepdims());
    rewriter.replaceOp(op, castTo(rewriter, op.getLoc(), m.mul(sum, m.constant(1.0 / double(count))), element));
    return success();
  }
};

struct Decompose : mpc::impl::DecomposePassBase<Decompose> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (isa<ReduceMeanOp, SoftmaxOp, LogSoftmaxOp, NllLossOp, SoftmaxCrossEntropyOp, BatchNormOp, BatchNormGradOp, BatchNormInferenceOp>(op))
        ++numDecomposed;
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeMean>(&getContext());
    populateSoftmaxPatterns(patterns);
    populateNormalizationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
