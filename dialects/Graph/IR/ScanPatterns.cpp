//===- ScanPatterns.cpp - the canonical form of a scan ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan in canonical form has two iterations or more; everything that it carries changes and is needed, everything
// that it reads is used, and its body computes nothing that is the same in each iteration (but for what is cheaper to
// repeat than to store), nor a sum over the iterations that one op can compute behind it (ScanSums.cpp); and it
// carries and stacks nothing in a wider type than it is read in (ScanCasts.cpp).
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/ScanRewrites.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// A pattern for scans without effects. Where the dispatches of a body have places in the arena, these are the places
/// that the scan's operands and results have, so the scan stays as it is.
struct ScanPattern : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  virtual LogicalResult canonicalize(ScanOp op, PatternRewriter &rewriter) const = 0;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const final {
    return isMemoryEffectFree(op) ? canonicalize(op, rewriter) : failure();
  }
};

/// No iterations return what they were given. One iteration needs no scan.
struct UnrollFew : ScanPattern {
  using ScanPattern::ScanPattern;
  LogicalResult canonicalize(ScanOp op, PatternRewriter &rewriter) const override {
    if (op.getTrips() > 1)
      return failure();
    Location loc = op.getLoc();
    SmallVector<Value> results;
    if (op.getTrips() == 0) {
      llvm::append_range(results, op.getInits());
      for (Value stack : op.getStacks())
        results.push_back(
            ConstantOp::create(rewriter, loc, DenseElementsAttr::get(typeOf(stack), ArrayRef<Attribute>())));
      rewriter.replaceOp(op, results);
      return success();
    }
    SmallVector<Value> arguments;
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      arguments.push_back(op.isStacked(i) ? reshapeTo(rewriter, loc, operand, shapeOf(operand).drop_front()) : operand);
    Operation *yield = op.getBlock().getTerminator();
    rewriter.inlineBlockBefore(&op.getBlock(), op, arguments);
    for (auto [i, v] : llvm::enumerate(yield->getOperands()))
      results.push_back(op.isCarried(i) ? v : reshapeTo(rewriter, loc, v, shapeOf(op.getResult(i))));
    rewriter.eraseOp(yield);
    rewriter.replaceOp(op, results);
    return success();
  }
};

enum class Group { Carried, Invariant, Stacked, Dropped };

/// Returns the group that each operand is in.
SmallVector<Group> groupsOf(ScanOp op) {
  SmallVector<Group> groups(op.getInits().size(), Group::Carried);
  groups.append(op.getInvariants().size(), Group::Invariant);
  groups.append(op.getStacked().size(), Group::Stacked);
  return groups;
}

/// Replaces the scan by one whose operands are in these groups and that has these further invariants, whose arguments
/// come last among the invariants. Dropped arguments have no users, and dropped results (of carried values that are
/// dropped or become invariants, and of stacks where `keepsStack` is false) have none either. Returns the new scan.
ScanOp regroup(ScanOp op, ArrayRef<Group> groups, ArrayRef<bool> keepsStack, PatternRewriter &rewriter,
               ValueRange further = {}) {
  SmallVector<Value> operands[3];
  for (auto [v, group] : llvm::zip_equal(op.getOperands(), groups))
    if (group != Group::Dropped)
      operands[int(group)].push_back(v);
  llvm::append_range(operands[int(Group::Invariant)], further);
  SmallVector<Type> stacks;
  for (auto [v, keep] : llvm::zip_equal(op.getStacks(), keepsStack))
    if (keep)
      stacks.push_back(v.getType());
  auto made = ScanOp::create(rewriter, op.getLoc(), op.getTrips(), op.getReverse(), operands[0], operands[1],
                             operands[2], stacks);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());

  Block &from = op.getBlock(), &to = made.getBlock();
  size_t next[3] = {0, operands[0].size(), operands[0].size() + operands[1].size()};
  for (auto [argument, group] : llvm::zip_equal(from.getArguments(), groups)) {
    assert((group != Group::Dropped || argument.use_empty()) && "a dropped argument has no users");
    if (group != Group::Dropped)
      rewriter.replaceAllUsesWith(argument, to.getArgument(next[int(group)]++));
  }
  SmallVector<Value> yielded;
  size_t result = 0;
  for (auto [i, v] : llvm::enumerate(op.yielded()))
    if (op.isCarried(i) ? groups[i] == Group::Carried : keepsStack[i - op.getInits().size()]) {
      yielded.push_back(v);
      rewriter.replaceAllUsesWith(op.getResult(i), made.getResult(result++));
    }
  Operation *yield = from.getTerminator();
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
  to.getOperations().splice(to.end(), from.getOperations());
  rewriter.eraseOp(op);
  return made;
}

/// Erases the ops of the body that nothing needs; the rewriter's driver does not look at them again. Returns
/// whether there was one.
bool eraseDead(ScanOp op, PatternRewriter &rewriter) {
  bool changed = false;
  for (Operation *inner = op.getBlock().getTerminator()->getPrevNode(); inner;) {
    Operation *previous = inner->getPrevNode();
    if (inner->use_empty()) {
      rewriter.eraseOp(inner);
      changed = true;
    }
    inner = previous;
  }
  return changed;
}

/// A carried value that no used result needs carries itself, so that nothing computes it.
struct StopUnneeded : ScanPattern {
  using ScanPattern::ScanPattern;
  LogicalResult canonicalize(ScanOp op, PatternRewriter &rewriter) const override {
    llvm::DenseSet<Value> needed;
    SmallVector<Value> work;
    auto need = [&](Value v) {
      if (needed.insert(v).second)
        work.push_back(v);
    };
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      if (!result.use_empty())
        need(op.yielded()[i]);
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (Operation *producer = v.getDefiningOp())
        llvm::for_each(producer->getOperands(), need);
      else if (unsigned i = cast<BlockArgument>(v).getArgNumber(); op.isCarried(i))
        need(op.yielded()[i]);
    }
    Operation *yield = op.getBlock().getTerminator();
    bool changed = false;
    for (auto [i, argument] : llvm::enumerate(op.carried()))
      if (op.getResult(i).use_empty() && !needed.contains(argument) && yield->getOperand(i) != argument) {
        rewriter.modifyOpInPlace(yield, [&, i = i, argument = argument] { yield->setOperand(i, argument); });
        changed = true;
      }
    return success(changed);
  }
};

/// A carried value that never changes is an invariant. Invariants, slices and stacks that nothing uses are dropped; the
/// second of two equal ones takes no place.
struct DropUnused : ScanPattern {
  using ScanPattern::ScanPattern;
  LogicalResult canonicalize(ScanOp op, PatternRewriter &rewriter) const override {
    SmallVector<Group> groups = groupsOf(op);
    SmallVector<bool> keepsStack(op.getStacks().size(), true);
    if (eraseDead(op, rewriter))
      return success();
    bool changed = false;
    DenseMap<std::pair<Value, int>, Value> first;
    for (auto [i, argument] : llvm::enumerate(op.getBlock().getArguments())) {
      if (groups[i] == Group::Carried) {
        if (op.yielded()[i] != argument)
          continue;
        rewriter.replaceAllUsesWith(op.getResult(i), op.getInits()[i]);
        groups[i] = Group::Invariant;
        changed = true;
        continue;
      }
      // An argument without users takes no part: it is dropped, so it may not stand for another one.
      if (!argument.use_empty())
        if (auto [known, isNew] = first.try_emplace({op.getOperand(i), int(groups[i])}, argument); !isNew)
          rewriter.replaceAllUsesWith(argument, known->second);
      if (argument.use_empty()) {
        groups[i] = Group::Dropped;
        changed = true;
      }
    }
    DenseMap<Value, Value> stackOf;
    for (auto [i, stack] : llvm::enumerate(op.getStacks())) {
      if (!stack.use_empty())
        if (auto [known, isNew] = stackOf.try_emplace(op.yielded()[op.getInits().size() + i], stack); !isNew)
          rewriter.replaceAllUsesWith(stack, known->second);
      if (stack.use_empty()) {
        keepsStack[i] = false;
        changed = true;
      }
    }
    if (!changed)
      return failure();
    regroup(op, groups, keepsStack, rewriter);
    return success();
  }
};

/// This pattern moves ops that read invariants alone out of the body, so that they run once, before the scan. An op
/// whose result takes more memory than its operands (a broadcast, a widening cast) stays. Constants that are one number
/// are not passed in but stand in the body.
struct HoistInvariants : ScanPattern {
  using ScanPattern::ScanPattern;
  LogicalResult canonicalize(ScanOp op, PatternRewriter &rewriter) const override {
    if (sinkSplats(op, rewriter))
      return success();
    IRMapping outside;
    for (auto [argument, v] : llvm::zip_equal(op.invariantArguments(), op.getInvariants()))
      outside.map(argument, v);
    SmallVector<Value> hoisted, further;
    for (Operation &inner : op.getBlock().without_terminator()) {
      if (inner.use_empty() || inner.getNumOperands() == 0 || inner.getNumRegions() != 0 ||
          !llvm::all_of(inner.getOperands(), [&](Value v) { return isOutside(v, outside); }) || grows(&inner))
        continue;
      if (llvm::all_of(inner.getOperands(),
                       [](Value v) { return !isa<BlockArgument>(v) && v.getDefiningOp()->getNumOperands() == 0; }))
        continue; // this is a matter of folding
      for (Value v : inner.getOperands())
        if (!outside.contains(v))
          rewriter.clone(*v.getDefiningOp(), outside);
      rewriter.clone(inner, outside);
      for (Value v : inner.getResults()) {
        hoisted.push_back(v);
        further.push_back(outside.lookup(v));
      }
    }
    if (hoisted.empty())
      return failure();
    size_t last = op.getInits().size() + op.getInvariants().size();
    ScanOp made = regroup(op, groupsOf(op), SmallVector<bool>(op.getStacks().size(), true), rewriter, further);
    for (auto [i, v] : llvm::enumerate(hoisted))
      rewriter.replaceAllUsesWith(v, made.getBlock().getArgument(last + i));
    eraseDead(made, rewriter);
    return success();
  }

private:
  /// Returns whether a value of the body is known outside, or can be made there from nothing.
  static bool isOutside(Value v, const IRMapping &outside) {
    return outside.contains(v) || (v.getDefiningOp() && v.getDefiningOp()->getNumOperands() == 0);
  }
  static bool grows(Operation *op) {
    auto bytes = [](TypeRange types) {
      int64_t sum = 0;
      for (Type type : types)
        sum += bytesOf(type);
      return sum;
    };
    return bytes(op->getResultTypes()) > bytes(op->getOperandTypes());
  }
  static bool sinkSplats(ScanOp op, PatternRewriter &rewriter) {
    bool changed = false;
    for (auto [argument, v] : llvm::zip_equal(op.invariantArguments(), op.getInvariants()))
      if (auto constant = v.getDefiningOp<ConstantOp>();
          constant && isa<SplatElementsAttr>(constant.getValue()) && !argument.use_empty()) {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(&op.getBlock());
        rewriter.replaceAllUsesWith(argument, rewriter.clone(*constant)->getResult(0));
        changed = true;
      }
    return changed;
  }
};

} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<UnrollFew, StopUnneeded, DropUnused, HoistInvariants>(context);
  addScanSumPatterns(patterns);
  addScanCastPatterns(patterns);
}
