//===- EmptyTensors.cpp - folds computations on tensors without elements -------===//
//
// A value that has no elements becomes a constant without elements, and a value that is computed from it
// becomes a constant: the sum, the product, the maximum, ... of no elements. So kernels, libraries and
// schedules never see an extent of 0.
//
//===----------------------------------------------------------------------===//
#include "passes/Decompose/Patterns.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

static int64_t countOf(Value v) { return typeOf(v).getNumElements(); }
static bool isEmpty(Value v) { return countOf(v) == 0; }

/// The number of products that each element of a contraction's result sums.
static int64_t productsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](MatMulOp m) {
        ArrayRef<int64_t> a = shapeOf(m.getA());
        return m.getTransposeA() ? a[a.size() - 2] : a.back();
      })
      // A window may see nothing but padding.
      .Case([](ConvOp c) { return isEmpty(c.getX()) || shapeOf(c.getW())[0] == 0 ? 0 : countOf(c.getW()) / shapeOf(c.getW())[0]; })
      .Case([](ConvInputGradOp c) { return countOf(c.getDy()); })
      .Case([](ConvWeightGradOp c) { return std::min(countOf(c.getDy()), countOf(c.getX())); })
      .Default(int64_t(1));
}

/// The result of reducing no elements, as a constant; null for ops that are not reductions. Maxima and minima
/// of integers are the bounds of their type, and their mean is 0.
static Value reductionOfNothing(Operation *op, OpBuilder &b) {
  if (!isa<ReductionOpInterface>(op))
    return {};
  RankedTensorType type = typeOf(op->getResult(0));
  bool isMax = isa<ReduceMaxOp>(op);
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  if (integer && isa<ReduceMaxOp, ReduceMinOp>(op)) {
    unsigned width = integer.getWidth();
    APInt bound = integer.isUnsigned() ? (isMax ? APInt::getMinValue(width) : APInt::getMaxValue(width))
                                       : (isMax ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width));
    return ConstantOp::create(b, op->getLoc(), DenseElementsAttr::get(type, bound));
  }
  double value = isa<ReduceProdOp>(op)             ? 1
                 : isa<ReduceMeanOp>(op) && !integer ? std::nan("")
                 : isa<ReduceMaxOp>(op)            ? -INFINITY
                 : isa<ReduceMinOp>(op)            ? INFINITY
                                                   : 0;
  return splat(b, op->getLoc(), type, value);
}

namespace {

/// Matches an op all of whose results are empty.
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

/// Matches an op whose result has elements, but is computed from an empty operand.
struct EmptyOperands : RewritePattern {
  explicit EmptyOperands(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 10, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<GraphDialect>(op->getDialect()) || op->getNumResults() != 1 || op->getNumOperands() == 0)
      return failure();
    auto filled = [&](double value) { return splat(rewriter, op->getLoc(), typeOf(op->getResult(0)), value); };
    Value constant;
    if (productsOf(op) == 0)
      constant = filled(0);
    else if (isEmpty(op->getOperand(0)))
      constant = isa<GatherGradOp>(op) ? filled(0) : isa<PadOp>(op) ? filled(cast<PadOp>(op).getValue().convertToDouble()) : reductionOfNothing(op, rewriter);
    if (constant) {
      rewriter.replaceOp(op, constant);
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
