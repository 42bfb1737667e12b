//===- Roots.cpp - which values are stored, and what is computed in the loops of its users ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include "passes/Fusion/Grouping.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::fusion;

/// The most ops that one chain of inlined ops computes. Networks stay far below that (a step of Adam has 20 ops, and a
/// decomposed layer norm as many). A chain of thousands would be one loop body, for which code generation needs more
/// than linear time and deep recursion.
static constexpr int64_t kLargestChain = 64;

/// The most samples that arithmetic on samples alone reads, and the most ops that it computes, where each of its users
/// computes it itself. (Each part of a split is a sample: without a limit each part's kernel would compute what is made
/// of all of them.)
static constexpr int64_t kMostSamples = 4, kMostSampleOps = 16;

/// The most tensors that a transpose reads to compute its operand itself. Where there are more, the operand
/// is stored: the kernel that computes it overwrites one of these tensors, but a transpose would need a buffer besides
/// all of them.
static constexpr size_t kMostTransposed = 2;

bool fusion::isOutside(Operation *op) {
  std::optional<LoopKind> kind = loopKindOf(op);
  auto constant = dyn_cast<ConstantOp>(op);
  return !kind || kind == LoopKind::View || kind == LoopKind::Repeat ||
         (constant && !isa<SplatElementsAttr>(constant.getValue()));
}

bool fusion::isFree(Operation *op) {
  if (isOutside(op))
    return false;
  return isOfKind(op, LoopKind::Generator) || isOfKind(op, LoopKind::Broadcast) || isWideningCast(op) || isSample(op);
}

bool fusion::isArithmetic(Operation *op) { return isOfKind(op, LoopKind::Elementwise) && !isFree(op); }

/// Whether computing `producer` inside the loops of `user` repeats no work, because the user reads each
/// element once.
bool Grouping::canInline(Operation *producer, Operation *user) const {
  if (isOfKind(user, LoopKind::Reduction))
    return true;
  if (auto pad = dyn_cast<PadOp>(user)) {
    // A pad also computes the elements that lie outside, at some index.
    auto none = [](ArrayRef<int64_t> counts) { return llvm::all_of(counts, [](int64_t n) { return n == 0; }); };
    return none(pad.getInterior()) &&
           3 * typeOf(pad.getY()).getNumElements() <= 4 * typeOf(pad.getX()).getNumElements();
  }
  // A slice reads each element once at most, and a pad or a slice in front of it takes no arithmetic.
  if (isa<SliceOp>(user) && isa<PadOp, SliceOp>(producer))
    return true;
  if (isSample(user)) // it computes few of the elements again
    return true;
  // The loops of a transpose compute the elements in tiles, on GPUs too.
  if (isOfKind(user, LoopKind::Permutation))
    return isArithmetic(producer) || isFree(producer);
  if (isOfKind(user, LoopKind::Elementwise))
    return resultShape(producer) == resultShape(user) || isFree(producer);
  return isOfKind(user, LoopKind::Broadcast) && isFree(producer);
}

/// Returns whether the op is a sample, or arithmetic on inlined samples and constants alone. Wherever it is computed,
/// it costs a few loads, which code generation moves out of the loops.
bool Grouping::readsSamplesOnly(Operation *op) const {
  if (isSample(op))
    return true;
  auto isConstant = [&](Value v) { return v.getDefiningOp() && isOfKind(v.getDefiningOp(), LoopKind::Generator); };
  auto ofSamples = [&](Value v) { return v.getDefiningOp() && samples.contains(v.getDefiningOp()); };
  return isOfKind(op, LoopKind::Elementwise) && llvm::any_of(op->getOperands(), ofSamples) &&
         llvm::all_of(op->getOperands(), [&](Value v) { return ofSamples(v) || isConstant(v); });
}

void Grouping::chooseRoots() {
  // The cost of repeating an inlined op: the stored full-size tensors that it needs, and the ops.
  struct Cost {
    llvm::SmallSetVector<Value, 4> loads;
    int64_t ops = 0;
    llvm::SmallSetVector<Operation *, 4> samples; ///< the samples that it reads: each is loaded once
    int64_t sampleOps = 1;                        ///< the ops on samples alone
    bool draws = false; ///< neighbours along the last dimension share the work of drawing a random number
  };
  DenseMap<Operation *, Cost> costs;
  for (Operation &op : block) {
    bool free = isFree(&op), moves = isOfKind(&op, LoopKind::Movement);
    if (!isArithmetic(&op) && !free && !moves)
      continue;
    Cost cost;
    cost.ops = 1;
    cost.draws = drawsNumbers(&op);
    for (Value v : llvm::SmallSetVector<Value, 4>(op.operand_begin(), op.operand_end())) {
      Operation *producer = v.getDefiningOp();
      if (producer && inlined.contains(producer)) {
        cost.loads.insert_range(costs[producer].loads);
        cost.ops += costs[producer].ops;
        cost.draws |= costs[producer].draws;
        cost.samples.insert_range(costs[producer].samples);
        cost.sampleOps += costs[producer].sampleOps;
      } else if (shapeOf(v) == resultShape(&op)) {
        cost.loads.insert(v);
      }
    }
    if (isSample(&op))
      cost.samples.insert(&op);
    bool fromSamples =
        readsSamplesOnly(&op) && int64_t(cost.samples.size()) <= kMostSamples && cost.sampleOps <= kMostSampleOps;
    bool usersInline = !op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation *user) {
      bool transposes = isOfKind(user, LoopKind::Permutation);
      bool repeats = fromSamples && isOfKind(user, LoopKind::Elementwise);
      return (repeats || canInline(&op, user)) && !(transposes && (cost.draws || cost.loads.size() > kMostTransposed));
    });
    llvm::SmallPtrSet<Operation *, 4> users(llvm::from_range, op.getUsers());
    // A free cast is repeated by each of its users, and so is a movement op that only the cast reads, and on the host
    // arithmetic. (A GPU has time for arithmetic while it waits for memory.)
    Operation *only = users.size() == 1 ? *users.begin() : nullptr;
    if (only && isFree(only) && (moves || (!free && !gpu && isWideningCast(only))))
      users = llvm::SmallPtrSet<Operation *, 4>(llvm::from_range, only->getUsers());
    bool cheapToRepeat = free || fromSamples || (!moves && isCheapToRepeat(int64_t(cost.loads.size()), cost.ops));
    // A random number costs ten rounds of multiplications, so it is drawn only once.
    cheapToRepeat &= !drawsNumbers(&op);
    if (usersInline && cost.ops < kLargestChain && (users.size() == 1 || cheapToRepeat))
      inlined.insert(&op);
    if (fromSamples && inlined.contains(&op)) {
      samples.insert(&op);
      cost.ops = 1;
    }
    costs[&op] = std::move(cost);
  }
  for (Operation &op : block)
    if (isOfKind(&op, LoopKind::Contraction))
      fuseEpilogue(&op);
  moveRowsIntoAttentions();
}

/// Ops that only move rows of heads are computed in the launches of attentions where these are all of their users,
/// directly or behind other such ops: the kernels read the rows where they lie. A kernel of attention computes nothing
/// else, so what is moved is stored.
void Grouping::moveRowsIntoAttentions() {
  llvm::SetVector<Operation *> moved;
  for (Operation &op : llvm::reverse(block)) { // users come before what they use
    bool isForAttention =
        kernel::movesRows(&op) && !op.use_empty() && llvm::all_of(op.getUses(), [&](OpOperand &use) {
          return kernel::isAttention(use.getOwner()) ? kernel::readsInPlace(use) : moved.contains(use.getOwner());
        });
    if (isForAttention)
      moved.insert(&op);
  }
  inlined.insert_range(moved);
  for (Operation *op : moved)
    if (Operation *producer = op->getOperand(0).getDefiningOp(); producer && !moved.contains(producer))
      inlined.erase(producer);
}

/// Adds what `op` reads besides `chain` to `loads`, which holds what the ops in front of it read. Returns whether all
/// of this takes few registers: the sums of a product hold most of those that its launch has.
bool Grouping::readsLittleBeside(Operation *op, Operation *chain, llvm::SetVector<Value> &loads) const {
  llvm::SmallPtrSet<Operation *, 8> seen{op, chain};
  SmallVector<Operation *> work{op};
  while (!work.empty())
    for (Value v : work.pop_back_val()->getOperands()) {
      Operation *producer = v.getDefiningOp();
      if (producer == chain)
        continue;
      if (!producer || !inlined.contains(producer))
        loads.insert(v);
      else if (seen.insert(producer).second)
        work.push_back(producer);
    }
  auto isLarge = [&](Value v) { return shapeOf(v) == resultShape(op); };
  // A thread keeps what a column reads for all rows of the column.
  auto isArray = [](Value v) { return typeOf(v).getNumElements() != 1; };
  return int64_t(seen.size()) <= kMostBesideProducts && llvm::count_if(loads, isLarge) <= 1 &&
         llvm::count_if(loads, isArray) <= 2;
}

/// The ops behind a contraction become part of its launch if no other op reads the values in between: on a GPU
/// elementwise arithmetic, on the host what a library adds itself. (A library's relu gives 0 for NaN, by the CPU's
/// maximum, where ours gives NaN.)
void Grouping::fuseEpilogue(Operation *contraction) {
  if (!gpu) {
    if (std::optional<kernel::Bias> bias = kernel::biasOf(cast<ContractionOpInterface>(contraction)))
      if (Operation *producer = bias->addend.getDefiningOp(); !producer || !inlined.contains(producer)) {
        inlined.insert(contraction);
        inlined.erase(bias->add);
      }
    return;
  }
  auto onlyUser = [](Operation *op) { return op->getResult(0).hasOneUse() ? *op->getUsers().begin() : nullptr; };
  auto widthOf = [](Operation *op) { return elementOf(op->getResult(0)).getIntOrFloatBitWidth(); };
  Operation *last = contraction;
  llvm::SetVector<Value> loads;   // of the ops behind widening casts, besides the product
  SmallVector<Operation *> ahead; // ops behind `last` whose values are wider than the product's, and so are not stored
  for (int i = 0; i < gpu->epilogueOps; ++i) {
    Operation *read = ahead.empty() ? last : ahead.back(), *user = onlyUser(read);
    if (!user || (!isArithmetic(user) && !isWideningCast(user)) || resultShape(user) != resultShape(contraction))
      break;
    // An op that adds two products belongs to the first; a dropout computes the mask of four neighbours at once.
    if (drawsNumbers(user) || absorbed.contains(user) || (!ahead.empty() && !readsLittleBeside(user, read, loads)))
      break;
    ahead.push_back(user);
    if (widthOf(user) > widthOf(contraction))
      continue;
    inlined.insert(last);
    inlined.insert_range(ahead);
    inlined.erase(user);
    absorbed.insert_range(ahead);
    last = user;
    ahead.clear();
  }
}

const Grouping::Cone &Grouping::coneOf(Operation *root) {
  std::unique_ptr<Cone> &cone = cones[root];
  if (cone)
    return *cone;
  cone = std::make_unique<Cone>();
  // Each op is visited once, since a chain may use a value twice at every step.
  SmallVector<Operation *> work{root};
  llvm::SmallPtrSet<Operation *, 8> seen{root};
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (isOfKind(op, LoopKind::Contraction))
      cone->contraction = op;
    cone->draws |= drawsNumbers(op);
    for (Value v : op->getOperands()) {
      Operation *producer = v.getDefiningOp();
      if (!producer || !inlined.contains(producer))
        cone->inputs.insert(v);
      else if (seen.insert(producer).second)
        work.push_back(producer);
    }
  }
  cone->ops = int64_t(seen.size());
  // The inputs behind each slice, pad, concat or gather of the cone are read at other indices.
  for (Operation *movement : seen) {
    if (!isOfKind(movement, LoopKind::Movement))
      continue;
    llvm::SmallPtrSet<Operation *, 8> behind{movement};
    work.push_back(movement);
    while (!work.empty())
      for (Value v : work.pop_back_val()->getOperands()) {
        Operation *producer = v.getDefiningOp();
        if (!producer || !inlined.contains(producer))
          cone->moved.insert(v);
        else if (behind.insert(producer).second)
          work.push_back(producer);
      }
  }
  return *cone;
}
