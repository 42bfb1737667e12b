//===- Recompute.cpp - computes again what it would cost memory to save ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. ForwardPass.h decides what is saved; this file copies the ops that compute the rest.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Train/IR/Recomputed.h"
#include "passes/Memory/ForwardPass.h"
#include "passes/Memory/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc::memory {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "passes/Memory/Passes.h.inc"
} // namespace mpc::memory
using namespace mpc::memory;

namespace {

/// Lets the ops behind a step's loss read copies of what is not saved.
class Repeater {
public:
  Repeater(train::StepOp step, const ForwardPass &forward, const llvm::DenseSet<Value> &saved)
      : builder(step.getContext()), forward(forward), saved(saved) {}
  void run();

  int64_t numOps = 0;
  double flops = 0; ///< of the products among the copies

private:
  /// The most operands of a concatenation, as mpc-decompose has it: the host's loops are cut at so many places.
  static constexpr size_t kWidestConcat = 64;

  void collect();
  void continueConcats();
  void findFirstReaders();
  Value again(Value v, Operation *reader);
  Value fresh(Value v, Operation *reader);

  OpBuilder builder;
  const ForwardPass &forward;
  const llvm::DenseSet<Value> &saved;
  llvm::SmallPtrSet<Operation *, 32> repeated;
  /// The first op behind the loss that needs an op's copy, and the first one that needs what the op reads. They differ
  /// where copies of longer concatenations do without that of a shorter one.
  DenseMap<Operation *, Operation *> firstReaders, firstNeeds;
  DenseMap<Operation *, SmallVector<Value>> concatOperands; ///< what the copy of a concatenation reads copies of
  IRMapping copies;
  int64_t numBarriers = 0;
};

} // namespace

void Repeater::collect() {
  SmallVector<Value> work;
  for (Operation *op : forward.ops())
    for (Value v : op->getResults())
      if (storageOf(v) == v && forward.isNeeded(v))
        work.push_back(v);
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (forward.isAlwaysThere(v) || saved.contains(v) || !repeated.insert(v.getDefiningOp()).second)
      continue;
    for (Value operand : v.getDefiningOp()->getOperands())
      work.push_back(storageOf(operand));
  }
}

/// In a dense block each concatenation continues the one before. If the copies did so too, the last one, which is read
/// first, would need all the others, and these would wait in memory for their readers. So the copy of a concatenation
/// reads what the ones before it read.
void Repeater::continueConcats() {
  for (Operation *op : forward.ops()) {
    auto concat = dyn_cast<ConcatOp>(op);
    if (!concat || !repeated.contains(op))
      continue;
    SmallVector<Value> operands;
    for (Value v : concat.getInputs()) {
      auto before = v.getDefiningOp<ConcatOp>();
      auto known = before && before.getAxis() == concat.getAxis() ? concatOperands.find(before) : concatOperands.end();
      if (known != concatOperands.end() && known->second.size() + concat.getInputs().size() <= kWidestConcat)
        llvm::append_range(operands, known->second);
      else
        operands.push_back(v);
    }
    concatOperands[op] = std::move(operands);
  }
}

void Repeater::findFirstReaders() {
  auto take = [](Operation *&first, Operation *reader) {
    if (reader && (!first || reader->isBeforeInBlock(first)))
      first = reader;
  };
  for (Operation *op : llvm::reverse(forward.ops())) {
    if (!repeated.contains(op) && !isView(op))
      continue;
    Operation *reader = nullptr, *need = nullptr;
    for (OpOperand &use : op->getUses()) {
      Operation *user = use.getOwner(), *first = forward.isLater(user) ? user : firstNeeds.lookup(user);
      take(need, first);
      auto concat = concatOperands.find(user);
      if (concat == concatOperands.end() || llvm::is_contained(concat->second, use.get()))
        take(reader, first);
    }
    firstReaders[op] = reader;
    firstNeeds[op] = need;
  }
}

/// Returns a value of the forward pass as the copy reads it that is made for `reader`.
Value Repeater::again(Value v, Operation *reader) {
  Operation *op = v.getDefiningOp();
  if (repeated.contains(storageOf(v).getDefiningOp())) {
    if (!isView(op))
      return copies.lookup(v);
    // Each reader gets a view of its own, for views take nothing.
    Value of = again(op->getOperand(0), reader);
    Operation *view = builder.clone(*op);
    view->setOperand(0, of);
    return view->getResult(0);
  }
  return fresh(v, reader);
}

/// Returns a value that stays in memory. A barrier hides that it is the same one as in the forward pass, for launches
/// that read the same tensor or what another launch writes would become one, and compute the copy early.
Value Repeater::fresh(Value v, Operation *reader) {
  Operation *op = v.getDefiningOp();
  if (op && isOfKind(op, LoopKind::Generator) && !isPermanent(v))
    return v;
  if (isPermanent(storageOf(v)) && shapeOf(v) != shapeOf(reader->getResult(0)))
    return v;
  return BarrierOp::create(builder, reader->getLoc(), v.getType(), v, /*after=*/ValueRange(), numBarriers++);
}

void Repeater::run() {
  collect();
  continueConcats();
  findFirstReaders();
  for (Operation *op : forward.ops()) {
    if (!repeated.contains(op) || !firstReaders.lookup(op))
      continue;
    builder.setInsertionPoint(firstReaders.at(op));
    SmallVector<Value> operands;
    auto concat = concatOperands.find(op);
    for (Value operand : concat == concatOperands.end() ? SmallVector<Value>(op->getOperands()) : concat->second)
      operands.push_back(again(operand, op));
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    for (auto [old, result] : llvm::zip_equal(op->getResults(), copy->getResults()))
      copies.map(old, result);
    ++numOps;
    flops += flopsOf(op);
  }
  for (Operation *op : forward.ops()) {
    if (op->getNumResults() == 0 || !repeated.contains(storageOf(op->getResult(0)).getDefiningOp()))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
      if (Operation *user = use.getOwner(); forward.isLater(user)) {
        builder.setInsertionPoint(user);
        use.set(again(use.get(), user));
      }
  }
}

namespace {
struct Recompute : memory::impl::RecomputePassBase<Recompute> {
  using RecomputePassBase::RecomputePassBase;

  void runOnOperation() override {
    if (failed(kernel::verifyNotPlanned(getOperation(), getArgument())))
      return signalPassFailure();
    train::Recomputed report;
    for (auto step : getOperation().getOps<train::StepOp>()) {
      double flops = 0;
      step.walk([&](ContractionOpInterface contraction) { flops += flopsOf(contraction); });
      ForwardPass forward(step);
      SmallVector<ForwardPass::Segment> segments = forward.segments();
      train::Recomputed own = chooseProducts(segments);
      llvm::DenseSet<Value> saved = forward.valuesToSave(segments);
      Repeater repeater(step, forward, saved);
      repeater.run();
      numOps += repeater.numOps;
      if (step.getTrace())
        continue;
      report.segments += own.segments;
      report.repeated += own.repeated;
      report.flops += flops;
      report.flopsAgain += repeater.flops;
    }
    train::setRecomputed(getOperation(), report);
  }

  /// Chooses the segments that save the most bytes for an operation. The last one is none of them: its copies would
  /// be made at once, while nothing has been freed.
  train::Recomputed chooseProducts(MutableArrayRef<ForwardPass::Segment> segments) {
    SmallVector<ForwardPass::Segment *> order;
    for (ForwardPass::Segment &segment : segments.drop_back(segments.empty() ? 0 : 1))
      if (segment.bytes > 0 && segment.flops > 0)
        order.push_back(&segment);
    llvm::stable_sort(order, [](const ForwardPass::Segment *a, const ForwardPass::Segment *b) {
      return double(a->bytes) * b->flops > double(b->bytes) * a->flops;
    });
    train::Recomputed report{int64_t(order.size()), std::min<int64_t>(products, order.size())};
    for (ForwardPass::Segment *segment : ArrayRef(order).take_front(size_t(report.repeated)))
      segment->repeatsProducts = true;
    return report;
  }
};
} // namespace
