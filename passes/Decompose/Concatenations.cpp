//===- Concatenations.cpp - wide concatenations, and those that gradients of splits are ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of a split is a sum of pads: one for each part, and each as large as the whole. Those that abut become
// one pad of their concatenation.
//
//   add(add(pad(a, low 0, high 5), pad(b, low 2, high 3)), pad(c, low 4, high 0)) -> concat(a, b, c)
//
// A dense block concatenates all that it has, and one tensor more, again and again. Then an earlier concatenation is
// the first operand of the next one.
//
//   concat(a, b), concat(a, b, c) -> y = concat(a, b), concat(y, c)
//
// An attention on a GPU writes the rows of its cotangents of queries, keys and values side by side, where heads are
// concatenated.
//
//   concat(reshape(a), reshape(b)) : [B, M, H, D] to [B, M, H D] -> reshape(concat(a, b) of heads)
//
// A concatenation of many tensors becomes one of concatenations, because a kernel has a loop for each operand, or a
// comparison at each element, and code generation needs more than linear time for a large kernel.
//
//===----------------------------------------------------------------------===//
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "passes/Decompose/Patterns.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// The most operands of one concatenation. The host's loops are cut at up to 128 places.
static constexpr size_t kWidest = 64;

/// The dimension along which a pad puts zeros around its operand; nullopt where it does anything else.
static std::optional<int64_t> paddedAxis(PadOp pad) {
  if (pad.getValue().convertToDouble() != 0 || llvm::any_of(pad.getInterior(), [](int64_t n) { return n != 0; }))
    return std::nullopt;
  std::optional<int64_t> axis;
  for (auto [d, low, high] : llvm::enumerate(pad.getLow(), pad.getHigh())) {
    if (low == 0 && high == 0)
      continue;
    if (axis || low < 0 || high < 0)
      return std::nullopt;
    axis = int64_t(d);
  }
  return axis && shapeOf(pad.getX())[*axis] > 0 ? axis : std::nullopt;
}

/// Returns whether `v` is a term of a longer sum of the same shape.
static bool isTerm(Value v) {
  return v.hasOneUse() && isa<AddOp>(*v.user_begin()) && shapeOf(v) == shapeOf(v.user_begin()->getResult(0));
}

/// The terms of a sum, in the order in which they are written.
static SmallVector<Value> termsOf(AddOp sum) {
  SmallVector<Value> terms, work{sum.getRhs(), sum.getLhs()};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (auto inner = v.getDefiningOp<AddOp>(); inner && isTerm(v)) {
      work.push_back(inner.getRhs());
      work.push_back(inner.getLhs());
    } else {
      terms.push_back(v);
    }
  }
  return terms;
}

namespace {

struct JoinPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp sum, PatternRewriter &rewriter) const override {
    // The last addition of a sum stands for all of it.
    if (isTerm(sum.getResult()))
      return failure();
    SmallVector<Value> rest;
    SmallVector<PadOp> pads;
    std::optional<int64_t> axis;
    for (Value term : termsOf(sum)) {
      auto pad = term.getDefiningOp<PadOp>();
      std::optional<int64_t> own = pad && shapeOf(term) == shapeOf(sum.getResult()) ? paddedAxis(pad) : std::nullopt;
      if (own && !axis)
        axis = own;
      if (own && own == axis)
        pads.push_back(pad);
      else
        rest.push_back(term);
    }
    if (pads.size() < 2)
      return failure();
    llvm::stable_sort(pads, [&](PadOp a, PadOp b) { return a.getLow()[*axis] < b.getLow()[*axis]; });
    rewriter.setInsertionPoint(sum);
    bool joined = false;
    for (size_t begin = 0, end = 0; begin < pads.size(); begin = end) {
      SmallVector<Value> run;
      for (int64_t at = pads[begin].getLow()[*axis]; end < pads.size() && pads[end].getLow()[*axis] == at; ++end) {
        run.push_back(pads[end].getX());
        at += shapeOf(run.back())[*axis];
      }
      joined |= run.size() > 1;
      rest.push_back(run.size() > 1 ? padded(rewriter, pads[begin], pads[end - 1], *axis, run)
                                    : pads[begin].getResult());
    }
    if (!joined)
      return failure();
    Value result = rest.front();
    for (Value term : ArrayRef(rest).drop_front())
      result = AddOp::create(rewriter, sum.getLoc(), result, term);
    rewriter.replaceOp(sum, result);
    return success();
  }

private:
  /// The concatenation of a run, from the place of the first pad's operand to that of the last one's.
  static Value padded(PatternRewriter &rewriter, PadOp first, PadOp last, int64_t axis, ValueRange run) {
    GraphBuilder m(rewriter, first.getLoc());
    Shape shape(shapeOf(run.front())), low(first.getLow()), high(last.getHigh());
    shape[axis] = shapeOf(first.getResult())[axis] - low[axis] - high[axis];
    Value whole = m.create<ConcatOp>(typeOf(run.front()).clone(shape), run, axis);
    if (low[axis] == 0 && high[axis] == 0)
      return whole;
    return m.create<PadOp>(first.getType(), whole, first.getValueAttr(), rewriter.getDenseI64ArrayAttr(low),
                           rewriter.getDenseI64ArrayAttr(high), first.getInteriorAttr());
  }
};

struct ContinueConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    auto begins = [&](ConcatOp other) {
      size_t count = other.getInputs().size();
      return other != op && other.getAxis() == op.getAxis() && count > 1 && count < op.getInputs().size() &&
             other->getBlock() == op->getBlock() && other->isBeforeInBlock(op) &&
             llvm::equal(other.getInputs(), op.getInputs().take_front(count));
    };
    ConcatOp longest;
    for (Operation *user : op.getInputs().front().getUsers())
      if (auto other = dyn_cast<ConcatOp>(user); other && begins(other))
        if (!longest || other.getInputs().size() > longest.getInputs().size())
          longest = other;
    if (!longest)
      return failure();
    SmallVector<Value> inputs{longest.getResult()};
    llvm::append_range(inputs, op.getInputs().drop_front(longest.getInputs().size()));
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(inputs); });
    return success();
  }
};

struct DivideConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    size_t count = op.getInputs().size(), groups = (count + kWidest - 1) / kWidest;
    if (groups < 2)
      return failure();
    GraphBuilder m(rewriter, op.getLoc());
    SmallVector<Value> parts;
    for (size_t i = 0; i < groups; ++i) {
      size_t begin = count * i / groups, end = count * (i + 1) / groups;
      ValueRange inputs = op.getInputs().slice(begin, end - begin);
      Shape shape(shapeOf(op.getResult()));
      shape[op.getAxis()] = 0;
      for (Value v : inputs)
        shape[op.getAxis()] += shapeOf(v)[op.getAxis()];
      parts.push_back(m.create<ConcatOp>(typeOf(op.getResult()).clone(shape), inputs, op.getAxis()));
    }
    rewriter.replaceOp(op, m.create<ConcatOp>(op.getType(), parts, op.getAxis()));
    return success();
  }
};

struct ConcatHeads : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    if (int64_t(op.getAxis()) + 1 != typeOf(op.getResult()).getRank())
      return failure();
    SmallVector<Value> heads;
    Shape shape;
    for (Value v : op.getInputs()) {
      auto view = v.getDefiningOp<ReshapeOp>();
      if (!view || !kernel::writesInPlace(view.getX().getDefiningOp()))
        return failure();
      Shape own(shapeOf(view.getX()));
      if (own.size() != 4 || own[2] * own[3] != shapeOf(v).back() || !view.getX().hasOneUse() ||
          (!heads.empty() && (own[0] != shape[0] || own[1] != shape[1] || own[3] != shape[3])))
        return failure();
      int64_t before = heads.empty() ? 0 : shape[2];
      shape = own;
      shape[2] += before;
      heads.push_back(view.getX());
    }
    GraphBuilder m(rewriter, op.getLoc());
    Value whole = m.create<ConcatOp>(typeOf(op.getResult()).clone(shape), heads, int64_t(2));
    rewriter.replaceOp(op, m.reshape(whole, shapeOf(op.getResult())));
    return success();
  }
};

} // namespace

void mpc::populateHeadPatterns(RewritePatternSet &patterns) { patterns.add<ConcatHeads>(patterns.getContext()); }

void mpc::populateConcatPatterns(RewritePatternSet &patterns) {
  patterns.add<JoinPads, ContinueConcat, DivideConcat>(patterns.getContext());
}
