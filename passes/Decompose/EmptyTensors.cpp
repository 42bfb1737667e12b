//===- EmptyTensors.cpp - folds computations on tensors without elements -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that has no elements becomes a constant without elements, and a value that is computed from it
// becomes a constant: the sum, the product, the maximum, ... of no elements. So kernels, libraries and
// schedules never see an extent of 0.
//
//===----------------------------------------------------------------------===//
#include "passes/Decompose/Patterns.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

static bool isEmpty(Value v) { return typeOf(v).getNumElements() == 0; }

/// The constant that op gives where it computes from an empty tensor; null where that is no constant. A
/// contraction of an empty tensor sums no products. Maxima and minima of no integers are the bounds of their type,
/// and their mean is 0.
static Attribute resultOfNothing(Operation *op) {
  Type element = elementOf(op->getResult(0));
  if (isOfKind(op, LoopKind::Contraction))
    return llvm::any_of(op->getOperands(), isEmpty) ? identityOf(Combiner::Add, element) : Attribute();
  if (!isEmpty(op->getOperand(0)))
    return {};
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return identityOf(scatter.getCombiner(), element);
  if (auto pad = dyn_cast<PadOp>(op))
    return numberAttr(element, pad.getValue().convertToDouble());
  auto reduction = dyn_cast<ReductionOpInterface>(op);
  if (!reduction)
    return {};
  return reduction.isMean() && isFloat(element) ? numberAttr(element, std::nan(""))
                                                : identityOf(reduction.getCombiner(), element);
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
      constants.push_back(
          ConstantOp::create(rewriter, op->getLoc(), DenseElementsAttr::get(typeOf(v), ArrayRef<Attribute>())));
    rewriter.replaceOp(op, constants);
    return success();
  }
};

/// Matches an op whose result has elements, but is computed from an empty operand.
struct EmptyOperands : RewritePattern {
  explicit EmptyOperands(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 10, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<GraphDialect>(op->getDialect()) || op->getNumResults() != 1 || op->getNumOperands() == 0 ||
        isEmpty(op->getResult(0)))
      return failure();
    if (Attribute number = resultOfNothing(op)) {
      rewriter.replaceOpWithNewOp<ConstantOp>(op, DenseElementsAttr::get(typeOf(op->getResult(0)), number));
      return success();
    }
    auto concat = dyn_cast<ConcatOp>(op);
    if (!concat || llvm::none_of(concat.getInputs(), isEmpty))
      return failure();
    SmallVector<Value> kept =
        llvm::to_vector(llvm::make_filter_range(concat.getInputs(), [](Value v) { return !isEmpty(v); }));
    rewriter.replaceOpWithNewOp<ConcatOp>(concat, kept, concat.getAxis());
    return success();
  }
};

} // namespace

void mpc::populateEmptyTensorPatterns(RewritePatternSet &patterns) {
  patterns.add<EmptyResults, EmptyOperands>(patterns.getContext());
}
