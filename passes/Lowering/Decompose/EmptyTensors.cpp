//===- EmptyTensors.cpp - nothing is computed on tensors without elements ------===//
//
// What has no elements becomes a constant without elements, and what is computed from it becomes what a sum, a product, a maximum of
// nothing is. So kernels, libraries and schedules never see an extent of 0.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Decompose/Patterns.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

static int64_t countOf(Value v) { return typeOf(v).getNumElements(); }
static bool isEmpty(Value v) { return countOf(v) == 0; }

/// How many products each element of a contraction's result sums.
static int64_t productsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](MatMulOp m) {
        ArrayRef<int64_t> a = shapeOf(m.getA());
        return m.getTransposeA() ? a[a.size() - 2] : a.back();
      })
      // All that a window sees may be padding.
      .Case([](ConvOp c) { return isEmpty(c.getX()) || shapeOf(c.getW())[0] == 0 ? 0 : countOf(c.getW()) / shapeOf(c.getW())[0]; })
      .Case([](ConvInputGradOp c) { return countOf(c.getDy()); })
      .Case([](ConvWeightGradOp c) { return std::min(countOf(c.getDy()), countOf(c.getX())); })
      .Default(int64_t(1));
}

/// What a reduction of nothing gives; nullopt for ops that are no reductions.
static std::optional<double> reductionOfNothing(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case<ReduceSumOp, ReduceL2Op, ReduceAnyOp>([](auto) { return 0.0; })
      .Case([](ReduceProdOp) { return 1.0; })
      .Case([](ReduceMeanOp) { return std::nan(""); })
      .Case([](ReduceMaxOp op) { return isFloat(op.getX()) ? std::optional(-INFINITY) : std::nullopt; })
      .Case([](ReduceMinOp op) { return isFloat(op.getX()) ? std::optional(INFINITY) : std::nullopt; })
      .Default(std::optional<double>());
}

namespace {

/// An op all of whose results are empty.
struct EmptyResults : RewritePattern {
  explicit EmptyResults(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 10, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<GraphDialect>(op->getDialect()) || isa<ConstantOp>(op) || op->getNumResults() == 0 ||
        !llvm::all_of(op->getResults(), isEmpty))
      return failure();
    SmallVector<Value> constants;
    for (Value v : op->getResults())
      constants.push_back(ConstantOp::create(rewriter, op->getLoc(), DenseElementsAttr::get(typeOf(v), ArrayRef<Attribute>())));
    rewriter.replaceOp(op, constants);
    return success();
  }
};

/// An op with elements that is computed from none.
struct EmptyOperands : RewritePattern {
  explicit EmptyOperands(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 10, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<GraphDialect>(op->getDialect()) || op->getNumResults() != 1 || op->getNumOperands() == 0)
      return failure();
    std::optional<double> value;
    if (productsOf(op) == 0)
      value = 0;
    else if (isEmpty(op->getOperand(0)))
      value = isa<GatherGradOp>(op) ? 0 : isa<PadOp>(op) ? cast<PadOp>(op).getValue().convertToDouble() : reductionOfNothing(op);
    if (value) {
      rewriter.replaceOp(op, splat(rewriter, op->getLoc(), typeOf(op->getResult(0)), *value));
      return success();
    }
    auto concat = dyn_cast<ConcatOp>(op);
    if (!concat || llvm::none_of(concat.getInputs(), isEmpty))
      return failure();
    SmallVector<Value> kept = llvm::to_vector(llvm::make_filter_range(concat.getInputs(), [](Value v) { return !isEmpty(v); }));
    rewriter.replaceOpWithNewOp<ConcatOp>(concat, kept, concat.getAxis());
    return success();
  }
};

} // namespace

void mpc::populateEmptyTensorPatterns(RewritePatternSet &patterns) {
  patterns.add<EmptyResults, EmptyOperands>(patterns.getContext());
}
