//===- FormDispatches.cpp - groups ops into kernel.dispatches ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. Grouping.h makes the decisions, and this file rewrites the ops.
//
//===----------------------------------------------------------------------===//
#include "dialects/Kernel/Analysis/Form.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Fusion/Grouping.h"
#include "passes/Fusion/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <queue>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc::fusion {
#define GEN_PASS_DEF_FORMDISPATCHESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc::fusion
using namespace mpc::fusion;

/// Ops that cost nothing are duplicated: users that need the value in memory get a copy of the op, so that
/// the original can be inlined into the other users.
static void splitFreeOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isFree(&op))
      continue;
    auto wantsMemory = [](OpOperand &use) {
      Operation *user = use.getOwner();
      return !isArithmetic(user) && !isFree(user) && !isOfKind(user, LoopKind::Reduction) &&
             !isOfKind(user, LoopKind::Permutation);
    };
    bool some = llvm::any_of(op.getUses(), wantsMemory), all = llvm::all_of(op.getUses(), wantsMemory);
    if (!some || all)
      continue;
    OpBuilder builder(&op);
    Operation *copy = builder.clone(op);
    op.getResult(0).replaceUsesWithIf(copy->getResult(0), wantsMemory);
  }
}

/// A name like "conv1:conv+relu": the node that the group comes from, and its ops.
static std::string dispatchName(const Group &group, ArrayRef<Operation *> ops) {
  Operation *named = group.contraction ? group.roots.front() : group.roots.back();
  std::string name = nodeName(named->getLoc());
  if (!name.empty())
    name.append(1, ':');
  llvm::SmallSetVector<StringRef, 8> mnemonics;
  for (Operation *op : ops)
    if (!isa<ConstantOp>(op))
      mnemonics.insert(op->getName().stripDialect());
  size_t shown = 0;
  for (StringRef mnemonic : mnemonics) {
    if (shown == 4) {
      name += "+...";
      break;
    }
    if (shown++)
      name.append(1, '+');
    name.append(mnemonic.data(), mnemonic.size());
  }
  return name;
}

/// Puts every op after what it reads: of the ops that may come next, it always takes the one that originally
/// came first. (Before this, views are at the front, and their producers at the end.) It takes n log n steps
/// for n ops with a bounded number of operands each. Fails where ops wait for one another.
static LogicalResult sortByPosition(Block &block) {
  SmallVector<Operation *> ops;
  DenseMap<Operation *, size_t> positions;
  for (Operation &op : block.without_terminator()) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
  std::vector<unsigned> missing(ops.size(), 0);
  std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>> ready;
  for (auto [i, op] : llvm::enumerate(ops)) {
    for (Value v : op->getOperands())
      missing[i] += positions.contains(v.getDefiningOp());
    if (missing[i] == 0)
      ready.push(i);
  }
  Operation *end = block.getTerminator();
  size_t placed = 0;
  while (!ready.empty()) {
    ++placed;
    Operation *op = ops[ready.top()];
    ready.pop();
    op->moveBefore(end);
    for (OpOperand &use : op->getUses())
      if (auto user = positions.find(use.getOwner()); user != positions.end() && --missing[user->second] == 0)
        ready.push(user->second);
  }
  return success(placed == ops.size());
}

namespace {
struct FormDispatches : fusion::impl::FormDispatchesPassBase<FormDispatches> {
  using FormDispatchesPassBase::FormDispatchesPassBase;
  void runOnOperation() override {
    if (failed(kernel::verifyNotPlanned(getOperation(), getArgument())))
      return signalPassFailure();
    for (auto entry : getOperation().getOps<FunctionOpInterface>())
      if (!entry.isExternal() && failed(verifyUnformed(entry.getFunctionBody().front())))
        return signalPassFailure();
    for (auto entry : getOperation().getOps<FunctionOpInterface>()) {
      if (entry.isExternal())
        continue;
      SmallVector<Block *> blocks{&entry.getFunctionBody().front()};
      for (auto scan : blocks.front()->getOps<ScanOp>())
        blocks.push_back(&scan.getBlock());
      for (Block *block : blocks)
        if (failed(formDispatches(*block)))
          return signalPassFailure();
    }
  }

  /// Checks that an entry which has dispatches has nothing left to group: what a dispatch reads is not known as stored.
  static LogicalResult verifyUnformed(Block &block) {
    auto dispatches = block.getOps<kernel::DispatchOp>();
    if (dispatches.empty())
      return success();
    for (Operation &op : block)
      if (!isOutside(&op))
        return emitErrorWithHint(
            (*dispatches.begin()).getLoc(),
            "'kernel.dispatch' op stands in an entry beside '" + op.getName().getStringRef() +
                "', which is in no dispatch",
            "run mpc-form-dispatches on entries without dispatches; it forms all of an entry's at once");
    return success();
  }

  /// Reports that launches wait for one another. Fusion orders launches and views; it does not see that launches wait
  /// for one another through another op, such as a call.
  static LogicalResult waitForOneAnother(Block &block) {
    for (Operation &op : block.without_terminator())
      if (!loopKindOf(&op) && !isa<kernel::DispatchOp>(op) && op.getNumOperands() != 0 && op.getNumResults() != 0)
        return emitErrorWithHint(op.getLoc(),
                                 "'" + op.getName().getStringRef() +
                                     "' op is part of no launch, and launches of its entry would wait for one "
                                     "another through it",
                                 "remove it before mpc-form-dispatches: a call, for example, by inlining its function");
    return emitErrorWithHint(block.getParentOp()->getLoc(),
                             "launches of this entry would wait for one another: this is a defect of mpc",
                             "report it with the model");
  }

  LogicalResult formDispatches(Block &block) {
    splitFreeOps(block);
    Grouping grouping(block, kernel::gpuOf(getOperation()));
    if (!grouping.isOrdered())
      return waitForOneAnother(block);
    SmallVector<Operation *> replaced;
    for (Operation &op : block)
      if (!isOutside(&op))
        replaced.push_back(&op);
    // The stored values that other launches read are all operands of ops that are computed outside of the
    // op's own dispatch.
    DenseMap<const Group *, SmallVector<Operation *>> bodies;
    llvm::DenseSet<Value> read;
    for (const std::unique_ptr<Group> &group : grouping.groups()) {
      if (!group->form)
        continue;
      SmallVector<Operation *> &ops = bodies[group.get()] = bodyOf(*group, grouping);
      llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, ops);
      for (Operation *op : ops)
        for (Value v : op->getOperands())
          if (!inside.contains(v.getDefiningOp()))
            read.insert(v);
    }
    for (Operation &op : block)
      if (isOutside(&op))
        read.insert_range(op.getOperands());

    OpBuilder builder = OpBuilder::atBlockTerminator(&block);
    DenseMap<Value, Value> stored;
    for (const std::unique_ptr<Group> &group : grouping.groups())
      if (group->form && failed(emit(builder, *group, bodies[group.get()], read, stored)))
        return failure();
    for (Operation *op : llvm::reverse(replaced)) {
      op->dropAllUses();
      op->erase();
    }
    return succeeded(sortByPosition(block)) ? success() : waitForOneAnother(block);
  }

  /// The ops of a group, including the inlined ones that are cloned into it, in program order.
  static SmallVector<Operation *> bodyOf(const Group &group, const Grouping &grouping) {
    llvm::SetVector<Operation *> ops;
    SmallVector<Operation *> work(group.roots.begin(), group.roots.end());
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      if (!ops.insert(op))
        continue;
      for (Value v : op->getOperands())
        if (Operation *producer = v.getDefiningOp(); producer && grouping.isInlined(producer))
          work.push_back(producer);
    }
    SmallVector<Operation *> sorted = ops.takeVector();
    llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return sorted;
  }

  /// Builds the dispatch of a group. `stored` maps the results of roots to the results of their dispatches.
  LogicalResult emit(OpBuilder &builder, const Group &group, ArrayRef<Operation *> ops,
                     const llvm::DenseSet<Value> &read, DenseMap<Value, Value> &stored) {
    llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, ops);
    llvm::SetVector<Value> inputs;
    SmallVector<Location> locations;
    for (Operation *op : ops)
      for (Value v : op->getOperands())
        if (!inside.contains(v.getDefiningOp()))
          inputs.insert(v);
    SmallVector<Value> outputs;
    for (Operation *root : group.roots) {
      locations.push_back(root->getLoc());
      llvm::copy_if(root->getResults(), std::back_inserter(outputs), [&](Value v) { return read.contains(v); });
    }
    if (outputs.empty())
      return success();
    SmallVector<Value> operands;
    for (Value v : inputs)
      operands.push_back(stored.lookup_or(v, v));
    auto dispatch = kernel::DispatchOp::create(builder, builder.getFusedLoc(locations), TypeRange(ValueRange(outputs)),
                                               *group.form, dispatchName(group, ops), operands);
    Block &body = dispatch.getBody().emplaceBlock();
    IRMapping mapping;
    for (Value v : inputs)
      mapping.map(v, body.addArgument(v.getType(), v.getLoc()));
    OpBuilder inner = OpBuilder::atBlockBegin(&body);
    for (Operation *op : ops)
      inner.clone(*op, mapping);
    SmallVector<Value> yielded;
    for (Value v : outputs)
      yielded.push_back(mapping.lookup(v));
    kernel::YieldOp::create(inner, dispatch.getLoc(), yielded);
    FailureOr<kernel::Form> form = kernel::formOf(dispatch);
    if (failed(form))
      return failure();
    dispatch.setForm(*form);
    for (auto [old, result] : llvm::zip(outputs, dispatch.getResults())) {
      stored[old] = result;
      // Views, assignments and the terminator stay, so they get the result; the other ops will be erased.
      old.replaceUsesWithIf(
          result, [](OpOperand &use) { return isOutside(use.getOwner()) && !isa<kernel::DispatchOp>(use.getOwner()); });
    }
    ++numDispatches;
    numOps += ops.size();
    return success();
  }
};
} // namespace
