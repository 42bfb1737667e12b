//===- Grouping.cpp - the groups, their order, and merging without cycles ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Fusion/Grouping.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/AttentionKernel.h"
#include <queue>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::fusion;

/// The most ops that one launch computes, for the same reason as the limit of a chain of inlined ops (Roots.cpp). The
/// steps of Adam for the scale and the bias of one norm, with their sums' finishes, are one launch.
static constexpr int64_t kLargestGroup = 160;
/// A search for a path follows at most this many reads of one group by another, so that fusing a network
/// takes time linear in its length. In networks either the paths between two groups are short, or there is
/// one (from a forward op through the loss to its gradient); far fewer steps find both. (One group may have
/// thousands of readers: the loss scale.)
static constexpr int64_t kLongestSearch = 2048;

Operation *fusion::storedBy(Value v) { return storageOf(v).getDefiningOp(); }

/// Calls `fn` for the ops that have to run before a value can be read: the one that stores it, and those that a barrier
/// on the way waits for.
static void forEachStored(Value v, llvm::function_ref<void(Operation *)> fn) {
  for (; isView(v.getDefiningOp()); v = v.getDefiningOp()->getOperand(0))
    for (Value waited : v.getDefiningOp()->getOperands().drop_front())
      forEachStored(waited, fn);
  if (Operation *producer = v.getDefiningOp())
    fn(producer);
}

static Shape axesOf(Operation *reduction) { return Shape(cast<ReductionOpInterface>(reduction).getAxes()); }

Grouping::Grouping(Block &block, const GpuArch *gpu) : block(block), gpu(gpu) {
  for (auto [i, op] : llvm::enumerate(block))
    positions[&op] = i;
  chooseRoots();
  formGroups();
  order();
}

llvm::SetVector<Group *> Grouping::producersOf(Group *group) {
  llvm::SetVector<Group *> result;
  for (Operation *root : group->roots)
    for (Value v : inputsOf(root))
      forEachStored(v, [&](Operation *producer) {
        if (Group *other = groupOf.lookup(producer); other && other != group)
          result.insert(other);
      });
  return result;
}

/// Returns whether no other op reads the op's operands, and they are all values of one group.
bool Grouping::isReadHereAlone(Operation &op) const {
  Group *group = groupOf.lookup(op.getOperand(0).getDefiningOp());
  return group && llvm::all_of(op.getOperands(),
                               [&](Value v) { return v.hasOneUse() && groupOf.lookup(v.getDefiningOp()) == group; });
}

void Grouping::formGroups() {
  for (Operation &op : block) {
    bool repeats = isOfKind(&op, LoopKind::Repeat);
    if ((isOutside(&op) && !repeats) || inlined.contains(&op))
      continue;
    if (op.use_empty())
      continue;
    // An attention writes transposes and concatenations of its results in place of these.
    if (kernel::writesInPlace(&op) && isReadHereAlone(op)) {
      Group *attention = groupOf.lookup(op.getOperand(0).getDefiningOp());
      attention->roots.insert(&op);
      attention->position = std::max(attention->position, positions[&op]);
      groupOf[&op] = attention;
      continue;
    }
    auto group = std::make_unique<Group>();
    group->roots.insert(&op);
    group->position = positions[&op];
    group->shape = Shape(resultShape(&op));
    group->ops = coneOf(&op).ops;
    group->contraction = coneOf(&op).contraction;
    if (group->contraction) {
      group->form = kernel::Form::Contraction;
    } else if (kernel::isAttention(&op)) {
      group->form = kernel::Form::Attention;
    } else if (isOfKind(&op, LoopKind::Reduction)) {
      group->form = kernel::Form::Reduction;
      group->shape = Shape(shapeOf(op.getOperand(0)));
      group->axes = axesOf(&op);
    } else if (!repeats) {
      group->form = kernel::Form::Pointwise;
    }
    bool joins =
        isFree(&op) || isArithmetic(&op) || isOfKind(&op, LoopKind::Movement) || isOfKind(&op, LoopKind::Reduction);
    group->alone = !joins || group->contraction;
    groupOf[&op] = group.get();
    group->rank = group->position;
    for (Group *producer : producersOf(group.get())) {
      producer->readers.push_back(&op);
      group->rank = std::max(group->rank, producer->rank + 1);
    }
    owned.push_back(std::move(group));
    if (groupOf[&op]->form == kernel::Form::Reduction)
      mergeSibling(&op);
    mergeProducers(&op);
  }
  mergeSiblings();
  // The launches that compute the operands of a concatenation may have become one only when siblings were merged, so
  // each concatenation tries again to join its operands' launch.
  for (Operation &op : block)
    if (isa<ConcatOp>(op) && groupOf.contains(&op))
      mergeProducers(&op);
}

/// Whether `reader` reads a view of a value of `writer`, or a barrier on the way waits for one. The view has to stand
/// between two launches, so they cannot be one launch.
bool Grouping::readsView(Group *reader, Group *writer) {
  return llvm::any_of(reader->roots, [&](Operation *root) {
    return llvm::any_of(inputsOf(root), [&](Value v) {
      bool reads = false;
      if (isView(v.getDefiningOp()))
        forEachStored(v, [&](Operation *producer) { reads |= groupOf.lookup(producer) == writer; });
      return reads;
    });
  });
}

/// Merging must not make too large a loop body, nor a cycle: there may be no path between the two groups
/// through a third group or through a view.
bool Grouping::canMerge(Group *a, Group *b) {
  if (a->ops + b->ops > kLargestGroup || readsView(a, b) || readsView(b, a))
    return false;
  // Ranks rise along every path.
  return a->rank == b->rank || !(a->rank < b->rank ? mayReachThroughOthers(a, b) : mayReachThroughOthers(b, a));
}

/// Whether `last` reads values of `first` through other groups. The search goes down from `first` and up from
/// `last` in turns, among groups whose ranks lie between theirs, since one direction may be short where the
/// other is long. A search that gets too long counts as a path.
bool Grouping::mayReachThroughOthers(Group *first, Group *last) {
  struct Walk {
    SmallVector<Group *> work;
    llvm::SmallPtrSet<Group *, 16> seen;
  } down, up;
  int64_t looked = 0;
  // Takes a group into one walk. Returns whether that ends the search, because the walks have met or the
  // search is too long.
  auto take = [&](Walk &walk, const Walk &other, Group *group) {
    if (other.seen.contains(group) || ++looked > kLongestSearch)
      return true;
    if (group->rank > first->rank && group->rank < last->rank && walk.seen.insert(group).second)
      walk.work.push_back(group);
    return false;
  };
  auto goDown = [&](Group *from) {
    return llvm::any_of(from->readers, [&](Operation *reader) {
      Group *group = groupOf.lookup(reader);
      return group != from && take(down, up, group);
    });
  };
  auto goUp = [&](Group *from) {
    return llvm::any_of(producersOf(from), [&](Group *group) { return take(up, down, group); });
  };
  if (goDown(first) || goUp(last))
    return true;
  while (!down.work.empty() && !up.work.empty())
    if (goDown(down.work.pop_back_val()) || goUp(up.work.pop_back_val()))
      return true;
  return false;
}

void Grouping::merge(Group *into, Group *from) {
  for (Operation *root : from->roots) {
    into->roots.insert(root);
    groupOf[root] = into;
  }
  into->position = std::max(into->position, from->position);
  into->ops += from->ops;
  into->rank = std::max(into->rank, from->rank);
  into->readers.append(from->readers);
  from->roots.clear();
  from->readers.clear();
  // Readers of one group must rank above the other group, too.
  SmallVector<Group *> raised{into};
  for (size_t i = 0; i < raised.size(); ++i) {
    Group *above = raised[i];
    for (Operation *root : above->readers)
      if (Group *reader = groupOf.lookup(root); reader != above && reader->rank <= above->rank) {
        reader->rank = above->rank + 1;
        raised.push_back(reader);
      }
  }
}

/// Repeatedly places the first group whose producers have all been placed.
void Grouping::order() {
  llvm::stable_sort(owned, [](const auto &a, const auto &b) { return a->position < b->position; });
  llvm::erase_if(owned, [](const auto &group) { return group->roots.empty(); });
  DenseMap<Group *, size_t> places;
  for (auto [i, group] : llvm::enumerate(owned))
    places[group.get()] = i;
  std::vector<SmallVector<size_t, 4>> readers(owned.size());
  std::vector<size_t> missing(owned.size(), 0);
  std::priority_queue<size_t, std::vector<size_t>, std::greater<size_t>> ready;
  for (auto [i, group] : llvm::enumerate(owned)) {
    for (Group *producer : producersOf(group.get())) {
      readers[places.at(producer)].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0)
      ready.push(i);
  }
  while (!ready.empty()) {
    size_t i = ready.top();
    ready.pop();
    ordered.push_back(std::move(owned[i]));
    for (size_t reader : readers[i])
      if (--missing[reader] == 0)
        ready.push(reader);
  }
}
