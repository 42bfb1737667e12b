//===- Scan.cpp - VJP of repetition ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iteration t is h' , y = f(h, w, x). Its VJP takes the cotangents of h' and y to those of h, w and x, so the
// gradient of a scan is a scan in the other direction: it carries the cotangent of h and the sum of those of w (which
// ScanSums.cpp computes behind the scan where one op can), and stacks those of x. What f's VJP reads of the forward
// iteration (h, and values inside f) the forward scan returns as further stacks. Bradbury et al., JAX: lax.scan; Baydin
// et al. 2018, "Automatic Differentiation in Machine Learning: a Survey", 3.2.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Gradients/ReverseMode.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Graph/IR/ScanRewrites.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// Builds the gradient of one scan. The VJPs of the body are first built at the end of a copy of the body, with further
/// arguments for the cotangents; then they move to the body of the backward scan.
class ScanGradient {
public:
  ScanGradient(ScanOp scan, VjpContext &ctx) : scan(scan), ctx(ctx), numCarried(scan.getInits().size()) {}
  LogicalResult run();

private:
  void findActive();
  LogicalResult differentiateBody();
  void findSaved();
  void buildForward();
  void buildBackward();
  bool isSaved(Value v) { return saved.contains(v); }

  ScanOp scan;
  VjpContext &ctx;
  unsigned numCarried;
  /// This says for each argument whether its gradient is needed. That of a carried value may be needed by another
  /// iteration alone.
  SmallVector<bool> active;
  /// A copy of the scan, of which only the body counts.
  ScanOp copy;
  /// The arguments that were added to the copy's body: cotangents of what it yields, null where there is none.
  SmallVector<BlockArgument> cotangents;
  /// The ops that were added to the copy's body.
  SmallVector<Operation *> added;
  /// The gradients of the arguments of the copy's body; null where there is none.
  SmallVector<Value> gradients;
  /// The values of an iteration that the backward scan reads, in groups: invariants, slices, and what the forward
  /// scan has to save.
  llvm::SetVector<Value> invariants, slices, saved;
  ScanOp forward;
};

} // namespace

void ScanGradient::findActive() {
  for (unsigned i = 0; i < scan.getNumOperands(); ++i)
    active.push_back(ctx.needs(i));
  for (bool changed = true; changed;) {
    changed = false;
    ReverseMode mode(scan.getBlock());
    for (auto [argument, needed] : llvm::zip_equal(scan.getBlock().getArguments(), active))
      if (needed)
        mode.addSource(argument);
    mode.findActive();
    for (unsigned i = 0; i < numCarried; ++i)
      if (!active[i] && mode.isActive(scan.yielded()[i]))
        changed = active[i] = true;
  }
}

LogicalResult ScanGradient::differentiateBody() {
  copy = cast<ScanOp>(OpBuilder(scan).clone(*scan));
  Block &body = copy.getBlock();
  unsigned numArguments = body.getNumArguments();
  ReverseMode mode(body);
  for (unsigned i = 0; i < numArguments; ++i)
    if (active[i])
      mode.addSource(body.getArgument(i));
  mode.findActive();

  Operation *yield = body.getTerminator(), *last = yield->getPrevNode();
  OpBuilder b(yield);
  SmallVector<Value> seeded;
  for (auto [i, v] : llvm::enumerate(copy.yielded())) {
    bool has = mode.isActive(v) && (copy.isCarried(i) ? active[i] : bool(ctx.cotangent(i)));
    cotangents.push_back(has ? body.addArgument(v.getType(), scan.getLoc()) : BlockArgument());
    if (!has)
      continue;
    mode.seed(v, cotangents.back(), b);
    seeded.push_back(v);
  }
  mode.findPath(seeded);
  if (failed(mode.run(b, [](InFlightDiagnostic &, Operation *) {})))
    return failure();
  for (unsigned i = 0; i < numArguments; ++i)
    gradients.push_back(active[i] ? mode.gradient(body.getArgument(i)) : Value());

  // A VJP may build ops that nothing needs in the end. They must not make the forward scan save anything.
  llvm::DenseSet<Value> needed(llvm::from_range, gradients);
  for (Operation *op = yield->getPrevNode(); op != last;) {
    Operation *previous = op->getPrevNode();
    if (op->use_empty() && llvm::none_of(op->getResults(), [&](Value v) { return needed.contains(v); }))
      op->erase();
    else
      added.push_back(op);
    op = previous;
  }
  std::reverse(added.begin(), added.end());
  return success();
}

void ScanGradient::findSaved() {
  llvm::SmallPtrSet<Operation *, 32> own(llvm::from_range, added);
  auto read = [&](Value v) {
    if (!v || (v.getDefiningOp() && own.contains(v.getDefiningOp())) || llvm::is_contained(cotangents, v))
      return;
    if (auto argument = dyn_cast<BlockArgument>(v); argument && copy.isInvariant(argument.getArgNumber()))
      invariants.insert(v);
    else if (argument && copy.isStacked(argument.getArgNumber()))
      slices.insert(v);
    else if (!v.getDefiningOp() || v.getDefiningOp()->getNumOperands() > 0)
      saved.insert(v); // what has no operands, a constant, is made again
  };
  for (Operation *op : added)
    llvm::for_each(op->getOperands(), read);
  llvm::for_each(gradients, read);
}

/// Replaces the scan by one that also returns what is saved. The old one loses its users, and is left to whoever
/// removes dead ops: the traversal still holds it.
void ScanGradient::buildForward() {
  OpBuilder b(scan);
  SmallVector<Type> stacks(scan.getStacks().getTypes());
  for (Value v : saved)
    stacks.push_back(ScanOp::stackType(scan.getTrips(), v.getType()));
  forward = ScanOp::create(b, scan.getLoc(), scan.getTrips(), scan.getReverse(), scan.getInits(), scan.getInvariants(),
                           scan.getStacked(), stacks);
  forward->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  IRMapping mapping;
  Block &from = copy.getBlock(), &to = forward.getBlock();
  for (auto [i, argument] : llvm::enumerate(to.getArguments()))
    mapping.map(from.getArgument(i), argument);
  OpBuilder inner = OpBuilder::atBlockEnd(&to);
  llvm::SmallPtrSet<Operation *, 32> own(llvm::from_range, added);
  for (Operation &op : from.without_terminator())
    if (!own.contains(&op))
      inner.clone(op, mapping);
  SmallVector<Value> yielded;
  for (Value v : copy.yielded())
    yielded.push_back(mapping.lookup(v));
  for (Value v : saved)
    yielded.push_back(mapping.lookup(v));
  ScanYieldOp::create(inner, scan.getLoc(), yielded);
  for (auto [old, result] : llvm::zip(scan.getResults(), forward.getResults()))
    old.replaceAllUsesWith(result);
}

void ScanGradient::buildBackward() {
  GraphBuilder b(ctx);
  Block &from = copy.getBlock();
  SmallVector<Value> inits, fixed, stacked;
  /// The values of the copy's body that the arguments of the backward body stand for, group by group.
  SmallVector<Value> standFor;
  // The carried cotangents come first, and behind them the sums for the invariants, which are kept in fp32 where
  // storage is narrower.
  SmallVector<unsigned> carried, summed, sliced;
  for (unsigned i = 0; i < numCarried; ++i)
    if (active[i]) {
      carried.push_back(i);
      Value outside = ctx.cotangent(i);
      inits.push_back(outside ? outside : b.splat(typeOf(scan.getInits()[i]), 0));
      standFor.push_back(cotangents[i]);
    }
  for (unsigned i = numCarried; i < gradients.size(); ++i)
    if (gradients[i] && copy.isInvariant(i)) {
      summed.push_back(i);
      RankedTensorType type = typeOf(from.getArgument(i));
      inits.push_back(b.splat(type.clone(computeType(type.getElementType())), 0));
      standFor.push_back(Value());
    } else if (gradients[i]) {
      sliced.push_back(i);
    }
  for (Value v : invariants) {
    fixed.push_back(scan.getOperand(cast<BlockArgument>(v).getArgNumber()));
    standFor.push_back(v);
  }
  for (unsigned i = numCarried; i < cotangents.size(); ++i)
    if (cotangents[i]) {
      stacked.push_back(ctx.cotangent(i));
      standFor.push_back(cotangents[i]);
    }
  for (Value v : slices) {
    stacked.push_back(scan.getOperand(cast<BlockArgument>(v).getArgNumber()));
    standFor.push_back(v);
  }
  for (auto [i, v] : llvm::enumerate(saved)) {
    stacked.push_back(forward.getResult(scan.getNumResults() + i));
    standFor.push_back(v);
  }

  SmallVector<Type> stacks;
  for (unsigned i : sliced)
    stacks.push_back(scan.getOperand(i).getType());
  auto backward = b.create<ScanOp>(scan.getTrips(), !scan.getReverse(), inits, fixed, stacked, stacks);
  backward->setAttr(kSumsGradientsAttr, b.builder.getUnitAttr());
  Block &body = backward.getBlock();
  IRMapping mapping;
  for (auto [argument, v] : llvm::zip_equal(body.getArguments(), standFor))
    if (v)
      mapping.map(v, argument);
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  auto make = [&](Value v) { // constants and the like
    if (!mapping.contains(v))
      inner.clone(*v.getDefiningOp(), mapping);
    return mapping.lookup(v);
  };
  for (Operation *op : added) {
    llvm::for_each(op->getOperands(), make);
    inner.clone(*op, mapping);
  }
  GraphBuilder f(inner, ctx.loc);
  SmallVector<Value> yielded;
  for (unsigned i : carried)
    yielded.push_back(gradients[i] ? make(gradients[i]) : f.splat(typeOf(scan.getInits()[i]), 0));
  for (auto [k, i] : llvm::enumerate(summed)) {
    BlockArgument sum = body.getArgument(carried.size() + k);
    yielded.push_back(f.add(sum, f.cast(make(gradients[i]), elementOf(sum))));
  }
  for (unsigned i : sliced)
    yielded.push_back(make(gradients[i]));
  f.create<ScanYieldOp>(yielded);

  for (auto [k, i] : llvm::enumerate(carried))
    if (ctx.needs(i))
      ctx.set(i, backward.getResult(k));
  for (auto [k, i] : llvm::enumerate(summed))
    ctx.set(i, backward.getResult(carried.size() + k));
  for (auto [k, i] : llvm::enumerate(sliced))
    ctx.set(i, backward.getResult(inits.size() + k));
}

LogicalResult ScanGradient::run() {
  findActive();
  if (failed(differentiateBody())) {
    copy.erase();
    return failure();
  }
  findSaved();
  buildForward();
  buildBackward();
  copy.erase();
  return success();
}

LogicalResult ScanOp::buildVjp(VjpContext &ctx) { return ScanGradient(*this, ctx).run(); }
