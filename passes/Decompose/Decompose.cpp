//===- Decompose.cpp - composite graph ops become primitive ones ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Rewrite.h"
#include "passes/Decompose/Passes.h"
#include "passes/Decompose/Patterns.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "passes/Decompose/Passes.h.inc"
} // namespace mpc

namespace {

/// mean(x) = sum(x) / n, in fp32 at least.
struct DecomposeMean : OpRewritePattern<ReduceMeanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceMeanOp op, PatternRewriter &rewriter) const override {
    if (!isFloat(op.getX()))
      return failure();
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    int64_t count = 1;
    for (int64_t axis : op.getAxes())
      count *= shapeOf(op.getX())[axis];
    Value sum = m.sum(m.up(op.getX()), op.getAxes(), op.getKeepdims());
    rewriter.replaceOp(op, m.cast(m.mul(sum, 1.0 / double(count)), element));
    return success();
  }
};

/// reduce_l2(x) = sqrt(sum(x^2)), in fp32 at least.
struct DecomposeL2 : OpRewritePattern<ReduceL2Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceL2Op op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Value squares = m.square(m.up(op.getX()));
    Value sum = op.getAxes().empty() ? squares : m.sum(squares, op.getAxes(), op.getKeepdims());
    rewriter.replaceOp(op, m.cast(m.sqrt(sum), element));
    return success();
  }
};

/// x^2, x^3 and x^4 are products, which take less time than pow. An intermediate
/// product overflows or underflows only where the power does.
struct DecomposePower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    std::optional<double> exponent = splatNumber(op.getRhs());
    if (!isFloat(op.getLhs()) || (exponent != 2 && exponent != 3 && exponent != 4))
      return failure();
    GraphBuilder m(rewriter, op.getLoc());
    Value x = m.up(m.broadcast(op.getLhs(), shapeOf(op.getResult()))), square = m.square(x);
    Value y = exponent == 2 ? square : m.mul(square, exponent == 3 ? x : square);
    rewriter.replaceOp(op, m.cast(y, elementOf(op.getResult())));
    return success();
  }
};

/// A dropout that drops whole samples or channels becomes a mask for them, times x. So a number is drawn once
/// for each of them, not for every element.
struct DecomposeSharedDropout : OpRewritePattern<DropoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DropoutOp op, PatternRewriter &rewriter) const override {
    if (op.getShared().empty())
      return failure();
    Type element = elementOf(op.getX());
    GraphBuilder m(rewriter, op.getLoc());
    Value ones = m.splat(RankedTensorType::get(op.getMaskShape(), computeType(element)), 1);
    Value mask =
        m.create<DropoutOp>(ones.getType(), ones, op.getSeed(), op.getStep(), op.getRatioAttr(), op.getSaltAttr());
    rewriter.replaceOp(op, m.cast(m.mul(m.up(op.getX()), mask), element));
    return success();
  }
};

/// A scatter in f16 would round at every addition or product, so it runs in f32, between casts. The host's kernel has
/// no 16-bit floats at all, so maxima and minima do the same.
struct WidenScatter : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterOp op, PatternRewriter &rewriter) const override {
    Type element = elementOf(op.getY());
    if (!isLowPrecision(element))
      return failure();
    GraphBuilder m(rewriter, op.getLoc());
    Value y = m.create<ScatterOp>(typeOf(op.getY()).clone(computeType(element)), m.up(op.getUpdates()), op.getIndices(),
                                  op.getAxisAttr(), op.getModeAttr());
    rewriter.replaceOp(op, m.cast(y, element));
    return success();
  }
};

/// Library calls take either one matrix for all batches, or one for each. [2, 3, m, k] @ [3, k, n] has
/// neither, so an operand that is repeated in part is written out.
struct RepeatMatrices : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatMulOp op, PatternRewriter &rewriter) const override {
    auto count = [](ArrayRef<int64_t> shape) { return llvm::product_of(shape); };
    ArrayRef<int64_t> batch = shapeOf(op.getResult()).drop_back(2);
    bool changed = false;
    auto repeated = [&](Value x) {
      ArrayRef<int64_t> shape = shapeOf(x), own = shape.drop_back(2);
      if (count(own) == count(batch) || count(own) == 1)
        return x;
      changed = true;
      Shape full(batch);
      llvm::append_range(full, shape.take_back(2));
      return GraphBuilder(rewriter, op.getLoc()).broadcast(x, full);
    };
    Value a = repeated(op.getA()), b = repeated(op.getB());
    if (!changed)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op->setOperands({a, b}); });
    return success();
  }
};

/// argmax(x) = min of the positions where x is its maximum (or NaN, which counts as it); with `last` max in place of
/// min. A GPU's threads share a reduction, where one thread alone would go through an argmax's axis.
struct DecomposeArgMax : OpRewritePattern<ArgMaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ArgMaxOp op, PatternRewriter &rewriter) const override {
    constexpr int64_t least = 32; // shorter axes are not worth two reductions
    Value x = op.getX();
    int64_t axis = op.getAxis(), extent = shapeOf(x)[axis];
    if (extent < least)
      return failure();
    GraphBuilder m(rewriter, op.getLoc());
    auto reduced = [&](bool smallest, Value v, bool keepdims) -> Value {
      DenseI64ArrayAttr axes = rewriter.getDenseI64ArrayAttr(axis);
      return smallest ? Value(m.create<ReduceMinOp>(v, axes, keepdims))
                      : Value(m.create<ReduceMaxOp>(v, axes, keepdims));
    };
    Value isBest = m.compare(Predicate::eq, x, reduced(op.getMin(), x, true));
    if (isFloat(x))
      isBest = m.create<OrOp>(isBest, m.compare(Predicate::ne, x, x));
    Shape along(typeOf(x).getRank(), 1);
    along[axis] = extent;
    auto type = RankedTensorType::get(along, rewriter.getI64Type());
    Value position = m.create<IotaOp>(type, axis);
    Value candidates =
        m.select(isBest, position, m.splat(type.clone(ArrayRef<int64_t>()), op.getLast() ? 0 : double(extent - 1)));
    rewriter.replaceOp(op, reduced(!op.getLast(), candidates, op.getKeepdims()));
    return success();
  }
};

struct Decompose : mpc::impl::DecomposePassBase<Decompose> {
  using DecomposePassBase::DecomposePassBase;
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (isOfKind(op, LoopKind::Composite) || isa<ReduceMeanOp>(op))
        ++numDecomposed;
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeMean, DecomposeL2, DecomposePower, DecomposeSharedDropout, RepeatMatrices>(&getContext());
    populateEmptyTensorPatterns(patterns);
    populateScanPatterns(patterns);
    populateConcatPatterns(patterns);
    populateViewPatterns(patterns);
    bool forGpu = kernel::gpuOf(getOperation()) != nullptr;
    if (forGpu) {
      patterns.add<DecomposeArgMax>(&getContext());
      populateDepthwisePatterns(patterns);
      populateHeadPatterns(patterns);
    } else // a GPU's kernel keeps its sums in f32 by itself
      patterns.add<WidenScatter>(&getContext());
    populateSoftmaxPatterns(patterns);
    populateNormalizationPatterns(patterns, forGpu);
    if (failed(applyWithinBudget(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};

} // namespace
