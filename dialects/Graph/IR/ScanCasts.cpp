//===- ScanCasts.cpp - scans carry and stack what is read rounded as it is read ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Autocast leaves carried values in fp32, so that iterations do not round them. Where every reader rounds such a value
// to one type anyway (a hidden state that only products read), it is carried in that type, and so are stacks whose
// readers all round: the results are bit for bit the same, in half the memory and without a launch that rounds. The
// same holds for values that every iteration widens.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/ScanRewrites.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Returns the narrower type to which every reader of a value rounds it, or null.
static Type roundedTo(Value v) {
  Type to;
  for (Operation *user : v.getUsers()) {
    auto cast = dyn_cast<CastOp>(user);
    if (!cast || (to && elementOf(cast.getY()) != to))
      return {};
    to = elementOf(cast.getY());
  }
  bool narrows =
      to && isFloat(v) && isa<FloatType>(to) && to.getIntOrFloatBitWidth() < elementOf(v).getIntOrFloatBitWidth();
  return narrows ? to : Type();
}

/// Returns the narrower type from which a value was widened, or null. This is exact, and so is the cast back, but for
/// 8-bit floats, whose casts saturate.
static Type widenedFrom(Value v) {
  auto cast = v.getDefiningOp<CastOp>();
  bool widens = cast && isFloat(cast.getX()) && isFloat(v) && !isFloat8(elementOf(cast.getX())) &&
                elementOf(cast.getX()).getIntOrFloatBitWidth() < elementOf(v).getIntOrFloatBitWidth();
  return widens ? elementOf(cast.getX()) : Type();
}

namespace {

struct NarrowScan : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    if (op.getTrips() < 2 || !isMemoryEffectFree(op))
      return failure();
    const unsigned numCarried = op.getInits().size();
    GraphBuilder b(rewriter, op.getLoc());
    SmallVector<Value> inits(op.getInits());
    SmallVector<Type> stacks(op.getStacks().getTypes());
    bool changed = false;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      Type to = i < numCarried ? carriedAs(op, i) : roundedTo(op.getResult(i));
      if (!to)
        continue;
      changed = true;
      if (i < numCarried)
        inits[i] = b.cast(inits[i], to);
      else
        stacks[i - numCarried] = typeOf(op.getResult(i)).clone(to);
    }
    if (!changed)
      return failure();
    auto made = b.create<ScanOp>(op.getTrips(), op.getReverse(), inits, op.getInvariants(), op.getStacked(), stacks);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    SmallVector<Value> results;
    for (auto [i, old] : llvm::enumerate(op.getResults()))
      results.push_back(i < numCarried && made.getResult(i).getType() != old.getType()
                            ? lastSlice(b, op, made, i)
                            : b.cast(made.getResult(i), elementOf(old)));

    // The body goes on in its own types; casts there and back fold.
    Block &body = made.getBlock();
    rewriter.setInsertionPointToEnd(&body);
    SmallVector<Value> arguments;
    for (auto [old, argument] : llvm::zip_equal(op.getBlock().getArguments(), body.getArguments()))
      arguments.push_back(b.cast(argument, elementOf(old)));
    rewriter.inlineBlockBefore(&op.getBlock(), &body, body.end(), arguments);
    Operation *yield = body.getTerminator();
    rewriter.setInsertionPoint(yield);
    SmallVector<Value> yielded;
    for (auto [v, result] : llvm::zip_equal(yield->getOperands(), made.getResults()))
      yielded.push_back(b.cast(v, elementOf(result)));
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// Returns the stack of what the scan carries on as value i, if there is one that something reads.
  static std::optional<unsigned> stackOf(ScanOp op, unsigned i) {
    for (unsigned k = op.getInits().size(); k < op.getNumResults(); ++k)
      if (op.yielded()[k] == op.yielded()[i] && !op.getResult(k).use_empty())
        return k;
    return std::nullopt;
  }
  /// Returns the type in which value i can be carried, or null. The value after the last iteration is not rounded, so
  /// it must be in a stack if anything reads it, unless that rounds it as well. What each iteration widens (the
  /// gradient of a hidden state) is carried as it was before.
  static Type carriedAs(ScanOp op, unsigned i) {
    if (Type from = widenedFrom(op.yielded()[i]); from && from == widenedFrom(op.getInits()[i]))
      return from;
    Type to = roundedTo(op.carried()[i]);
    bool known = op.getResult(i).use_empty() || roundedTo(op.getResult(i)) == to ||
                 (stackOf(op, i) && !roundedTo(op.getResult(*stackOf(op, i))));
    return known ? to : Type();
  }
  static Value lastSlice(const GraphBuilder &b, ScanOp op, ScanOp made, unsigned i) {
    // A stack that is narrowed as well may be rounded otherwise.
    std::optional<unsigned> k = stackOf(op, i);
    if (!k || op.getResult(i).use_empty() || elementOf(made.getResult(*k)) != elementOf(op.getResult(i)))
      return b.cast(made.getResult(i), elementOf(op.getResult(i)));
    Shape starts(typeOf(op.getResult(*k)).getRank(), 0), sizes(shapeOf(op.getResult(*k))), ones(starts.size(), 1);
    starts[0] = op.getReverse() ? 0 : sizes[0] - 1;
    sizes[0] = 1;
    return b.reshape(b.slice(made.getResult(*k), starts, sizes, ones), shapeOf(op.getResult(i)));
  }
};

/// Where an iteration rounds a carried value and reads it as it is too, the rounded one is carried beside it: the
/// launch that computes the value rounds it, and the next iteration does not begin with a launch of its own for that.
struct CarryRounded : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    if (op.getTrips() < 2 || !isMemoryEffectFree(op))
      return failure();
    for (unsigned i = 0; i < op.getInits().size(); ++i)
      for (Operation *user : op.carried()[i].getUsers())
        if (auto cast = dyn_cast<CastOp>(user);
            cast && narrows(cast) && !roundedTo(op.carried()[i]) && op.yielded()[i].getDefiningOp()) {
          carry(op, i, cast, rewriter);
          return success();
        }
    return failure();
  }

private:
  static bool narrows(CastOp cast) {
    auto to = dyn_cast<FloatType>(elementOf(cast.getY()));
    return to && isFloat(cast.getX()) && to.getIntOrFloatBitWidth() < elementOf(cast.getX()).getIntOrFloatBitWidth();
  }
  static void carry(ScanOp op, unsigned i, CastOp cast, PatternRewriter &rewriter) {
    const unsigned numCarried = op.getInits().size();
    GraphBuilder b(rewriter, op.getLoc());
    Type to = elementOf(cast.getY());
    SmallVector<Value> inits(op.getInits());
    inits.push_back(b.cast(inits[i], to));
    auto made = b.create<ScanOp>(op.getTrips(), op.getReverse(), inits, op.getInvariants(), op.getStacked(),
                                 op.getStacks().getTypes());
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    Block &body = made.getBlock();
    SmallVector<Value> arguments(body.getArguments()), results(made.getResults());
    arguments.erase(arguments.begin() + numCarried);
    results.erase(results.begin() + numCarried);
    rewriter.replaceAllUsesWith(cast.getY(), body.getArgument(numCarried));
    rewriter.eraseOp(cast);
    rewriter.inlineBlockBefore(&op.getBlock(), &body, body.end(), arguments);
    Operation *yield = body.getTerminator();
    rewriter.setInsertionPoint(yield);
    Value next = b.cast(yield->getOperand(i), to);
    rewriter.modifyOpInPlace(yield, [&] { yield->insertOperands(numCarried, next); });
    rewriter.replaceOp(op, results);
  }
};

} // namespace

void graph::addScanCastPatterns(RewritePatternSet &patterns) {
  patterns.add<NarrowScan, CarryRounded>(patterns.getContext());
}
