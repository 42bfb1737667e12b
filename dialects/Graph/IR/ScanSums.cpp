//===- ScanSums.cpp - sums over the iterations of a scan leave its body -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of a weight that a recurrence uses in each iteration is a sum of products, one an iteration. Where a
// scan carries such a sum, the factors of all iterations are stacked, and one product behind the scan, whose inner
// dimension includes the iterations, computes the sum: sum_t a[t]' b[t] = a' b. The same holds for sums of sums (the
// gradient of a bias).
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/ScanRewrites.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// A sum that a scan carries: sum' = sum + cast(term), and `term` is the result of a product or a sum of the body.
struct CarriedSum {
  unsigned index; // of the carried value
  Operation *term;
};

struct LiftSums : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    if (op.getTrips() < 2 || !isMemoryEffectFree(op))
      return failure();
    for (unsigned i = 0; i < op.getInits().size(); ++i)
      if (Operation *term = termOf(op, i); term && !op.getResult(i).use_empty()) {
        lift(op, {i, term}, rewriter);
        return success();
      }
    return failure();
  }

private:
  /// Returns the product or sum that is added to the carried value and has no other use, or null.
  static Operation *termOf(ScanOp op, unsigned carried) {
    BlockArgument sum = op.carried()[carried];
    auto add = op.yielded()[carried].getDefiningOp<AddOp>();
    if (!add || !sum.hasOneUse() || *sum.user_begin() != add || !add->hasOneUse() || add.getType() != sum.getType())
      return nullptr;
    Value v = add.getLhs() == sum ? add.getRhs() : add.getLhs();
    if (v.getType() != add.getType())
      return nullptr;
    // The terms of a gradient's sum are rounded to the low type one by one, or all together, as those of a layer that
    // computes all samples in one product. The gradient of a bias is a sum of sums in fp32, and the rounding between
    // the two is left out. Other sums keep their roundings.
    if (op->hasAttr(kSumsGradientsAttr))
      for (auto cast = v.getDefiningOp<CastOp>();
           cast && cast->hasOneUse() && isFloat(cast.getX()) && isFloat(cast.getY()); cast = v.getDefiningOp<CastOp>())
        v = cast.getX();
    Operation *term = v.getDefiningOp();
    if (!term || !term->hasOneUse())
      return nullptr;
    auto changes = [&](Value factor) { // whether iterations have values of their own
      auto argument = dyn_cast<BlockArgument>(narrowest(factor));
      return !argument || !op.isInvariant(argument.getArgNumber());
    };
    if (auto product = dyn_cast<MatMulOp>(term)) {
      // Only where the inner dimension is the first one of both, the iterations join it without a transpose.
      bool joins = typeOf(product.getA()).getRank() == 2 && typeOf(product.getB()).getRank() == 2 &&
                   product.getTransposeA() && !product.getTransposeB();
      return joins && changes(product.getA()) && changes(product.getB()) ? term : nullptr;
    }
    auto inner = dyn_cast<ReduceSumOp>(term);
    return inner && changes(inner.getX()) ? term : nullptr;
  }

  static void lift(ScanOp op, CarriedSum sum, PatternRewriter &rewriter) {
    // Each factor of the term is a slice of a stacked operand, or a cast of one; any other becomes a further stack.
    const int64_t trips = int64_t(op.getTrips());
    SmallVector<Value> stacked; // values of the body
    SmallVector<Type> types(op.getStacks().getTypes());
    for (Value v : sum.term->getOperands())
      if (!sliceOf(op, v)) {
        stacked.push_back(narrowest(v));
        types.push_back(ScanOp::stackType(trips, stacked.back().getType()));
      }
    auto made = ScanOp::create(rewriter, op.getLoc(), op.getTrips(), op.getReverse(), op.getInits(), op.getInvariants(),
                               op.getStacked(), types);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());

    GraphBuilder b(rewriter, sum.term->getLoc());
    SmallVector<Value> factors; // with the iterations as first dimension
    unsigned next = op.getNumResults();
    for (Value v : sum.term->getOperands()) {
      Value slice = sliceOf(op, v);
      factors.push_back(slice ? b.cast(op.getOperand(cast<BlockArgument>(slice).getArgNumber()), elementOf(v))
                              : b.cast(made.getResult(next++), elementOf(v)));
    }
    Value total = totalOf(b, sum.term, factors);
    total = b.add(op.getInits()[sum.index], b.cast(total, elementOf(op.getInits()[sum.index])));

    Block &body = made.getBlock();
    for (Value &v : stacked) // the old block ends with its arguments
      if (auto argument = dyn_cast<BlockArgument>(v))
        v = body.getArgument(argument.getArgNumber());
    rewriter.inlineBlockBefore(&op.getBlock(), &body, body.end(), body.getArguments());
    Operation *yield = body.getTerminator();
    rewriter.modifyOpInPlace(yield, [&] {
      yield->setOperand(sum.index, made.carried()[sum.index]); // it no longer changes
      yield->insertOperands(yield->getNumOperands(), stacked);
    });
    SmallVector<Value> results(made.getResults().take_front(op.getNumResults()));
    results[sum.index] = total;
    rewriter.replaceOp(op, results);
  }

  /// Returns what a value was widened from, or the value.
  static Value narrowest(Value v) {
    auto cast = v.getDefiningOp<CastOp>();
    return cast && widens(cast) ? cast.getX() : v;
  }
  /// Returns whether a cast is from one float type to a wider one; such a cast is exact.
  static bool widens(CastOp cast) {
    return isFloat(cast.getX()) && isFloat(cast.getY()) &&
           elementOf(cast.getX()).getIntOrFloatBitWidth() < elementOf(cast.getY()).getIntOrFloatBitWidth();
  }

  /// Returns the slice of a stacked operand that `v` is, perhaps in another type; or null.
  static Value sliceOf(ScanOp op, Value v) {
    if (auto cast = v.getDefiningOp<CastOp>())
      v = cast.getX(); // the operand is cast as its slices were
    auto argument = dyn_cast<BlockArgument>(v);
    return argument && op.isStacked(argument.getArgNumber()) ? v : Value();
  }

  /// Returns what the terms of all iterations add up to, in the type and shape of one.
  static Value totalOf(const GraphBuilder &b, Operation *term, ArrayRef<Value> factors) {
    if (isa<MatMulOp>(term)) {
      auto flat = [&](Value v) { return b.reshape(v, {shapeOf(v)[0] * shapeOf(v)[1], shapeOf(v)[2]}); };
      Value left = flat(factors[0]), right = flat(factors[1]);
      return MatMulOp::create(b.builder, b.loc, TypeRange(term->getResult(0).getType()), ValueRange{left, right},
                              term->getAttrs());
    }
    Shape axes{0};
    for (int64_t axis : cast<ReduceSumOp>(term).getAxes())
      axes.push_back(axis + 1);
    return b.reshape(b.sum(factors[0], axes), shapeOf(term->getResult(0)));
  }
};

} // namespace

void graph::addScanSumPatterns(RewritePatternSet &patterns) { patterns.add<LiftSums>(patterns.getContext()); }
