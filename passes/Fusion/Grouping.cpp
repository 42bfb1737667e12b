#include "passes/Fusion/Grouping.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include <queue>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::fusion;

/// The most ops that one chain of inlined ops and one launch compute. Networks stay far below that (a step of
/// Adam has 20 ops, and a decomposed layer norm as many). A chain of thousands would be one loop body, for
/// which code generation needs more than linear time and deep recursion.
static constexpr int64_t kLargestChain = 64, kLargestGroup = 128;
/// A search for a path follows at most this many reads of one group by another, so that fusing a network
/// takes time linear in its length. In networks either the paths between two groups are short, or there is
/// one (from a forward op through the loss to its gradient); far fewer steps find both. (One group may have
/// thousands of readers: the loss scale.)
static constexpr int64_t kLongestSearch = 2048;

/// Whether reading the operand again costs no more than reading the result would.
static bool isWideningCast(CastOp op) {
  return elementOf(op.getX()).getIntOrFloatBitWidth() <= elementOf(op.getY()).getIntOrFloatBitWidth();
}

bool fusion::isOutside(Operation *op) {
  std::optional<LoopKind> kind = loopKindOf(op);
  auto constant = dyn_cast<ConstantOp>(op);
  return !kind || kind == LoopKind::View || kind == LoopKind::Repeat ||
         (constant && !isa<SplatElementsAttr>(constant.getValue()));
}

bool fusion::isFree(Operation *op) {
  if (isOutside(op))
    return false;
  auto cast = dyn_cast<CastOp>(op);
  return isOfKind(op, LoopKind::Generator) || isOfKind(op, LoopKind::Broadcast) || (cast && isWideningCast(cast));
}

bool fusion::isArithmetic(Operation *op) { return isOfKind(op, LoopKind::Elementwise) && !isFree(op); }

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
static bool keepsDims(Operation *reduction) { return cast<ReductionOpInterface>(reduction).getKeepdims(); }
static ArrayRef<int64_t> resultShape(Operation *op) { return shapeOf(op->getResult(0)); }

Grouping::Grouping(Block &block, const GpuArch *gpu) : block(block), gpu(gpu) {
  for (auto [i, op] : llvm::enumerate(block))
    positions[&op] = i;
  chooseRoots();
  formGroups();
  order();
}

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
  // The loops of a transpose compute the elements in tiles, on GPUs too.
  if (isOfKind(user, LoopKind::Permutation))
    return isArithmetic(producer) || isFree(producer);
  if (isOfKind(user, LoopKind::Elementwise))
    return resultShape(producer) == resultShape(user) || isFree(producer);
  return isOfKind(user, LoopKind::Broadcast) && isFree(producer);
}

void Grouping::chooseRoots() {
  // The cost of repeating an inlined op: the stored full-size tensors that it needs, and the ops.
  struct Cost {
    llvm::SmallSetVector<Value, 4> loads;
    int64_t ops = 0;
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
      } else if (shapeOf(v) == resultShape(&op)) {
        cost.loads.insert(v);
      }
    }
    bool usersInline = !op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation *user) {
      return canInline(&op, user) && !(cost.draws && isOfKind(user, LoopKind::Permutation));
    });
    llvm::SmallPtrSet<Operation *, 4> users(llvm::from_range, op.getUsers());
    // A free cast is repeated by each of its users, and so is a movement op that only the cast reads.
    if (moves && users.size() == 1 && isFree(*users.begin()))
      users = llvm::SmallPtrSet<Operation *, 4>(llvm::from_range, (*users.begin())->getUsers());
    bool cheapToRepeat = free || (!moves && cost.loads.size() <= 2 && cost.ops <= 6);
    // A random number costs ten rounds of multiplications, so it is drawn only once.
    cheapToRepeat &= !drawsNumbers(&op);
    if (usersInline && cost.ops < kLargestChain && (users.size() == 1 || cheapToRepeat))
      inlined.insert(&op);
    costs[&op] = std::move(cost);
  }
  for (Operation &op : block)
    if (isOfKind(&op, LoopKind::Contraction))
      fuseEpilogue(&op);
}

/// The ops behind a contraction become part of its launch if no other op reads the values in between: on a GPU
/// elementwise arithmetic, on the host what a library adds itself. (A library's relu gives 0 for NaN, by the CPU's
/// maximum, where ours gives NaN.)
void Grouping::fuseEpilogue(Operation *contraction) {
  Operation *last = contraction;
  auto absorb = [&](Operation *next) {
    inlined.insert(last);
    inlined.erase(next);
    last = next;
  };
  if (!gpu) {
    if (std::optional<kernel::Bias> bias = kernel::biasOf(cast<ContractionOpInterface>(contraction)))
      if (Operation *producer = bias->addend.getDefiningOp(); !producer || !inlined.contains(producer))
        absorb(bias->add);
    return;
  }
  auto onlyUser = [](Operation *op) { return op->getResult(0).hasOneUse() ? *op->getUsers().begin() : nullptr; };
  Operation *user = onlyUser(last);
  for (int i = 0; i < gpu->epilogueOps && user && isArithmetic(user) && resultShape(user) == resultShape(contraction);
       ++i) {
    // An op that adds two products belongs to the first; a dropout computes the mask of four neighbours at once.
    if (drawsNumbers(user) || !absorbed.insert(user).second)
      break;
    absorb(user);
    user = onlyUser(last);
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
    cone->hasContraction |= isOfKind(op, LoopKind::Contraction);
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

void Grouping::formGroups() {
  for (Operation &op : block) {
    bool repeats = isOfKind(&op, LoopKind::Repeat);
    if ((isOutside(&op) && !repeats) || inlined.contains(&op))
      continue;
    if (op.use_empty())
      continue;
    auto group = std::make_unique<Group>();
    group->roots.insert(&op);
    group->position = positions[&op];
    group->shape = Shape(resultShape(&op));
    group->ops = coneOf(&op).ops;
    if (coneOf(&op).hasContraction) {
      group->form = kernel::Form::Contraction;
    } else if (isOfKind(&op, LoopKind::Reduction)) {
      group->form = kernel::Form::Reduction;
      group->shape = Shape(shapeOf(op.getOperand(0)));
      group->axes = axesOf(&op);
    } else if (!repeats) {
      group->form = kernel::Form::Pointwise;
    }
    bool joins =
        isFree(&op) || isArithmetic(&op) || isOfKind(&op, LoopKind::Movement) || isOfKind(&op, LoopKind::Reduction);
    group->alone = !joins || group->form == kernel::Form::Contraction;
    groupOf[&op] = group.get();
    group->rank = group->position;
    for (Group *producer : producersOf(group.get())) {
      producer->readers.push_back(&op);
      group->rank = std::max(group->rank, producer->rank + 1);
    }
    owned.push_back(std::move(group));
    mergeProducers(&op);
  }
  mergeSiblings();
}

/// Whether the axes are the last ones of the shape, with enough rows before them to share among threads.
static bool isRowwise(const Group &group) {
  if (group.axes.empty() || group.axes.back() != int64_t(group.shape.size()) - 1)
    return false;
  for (auto [i, axis] : llvm::enumerate(group.axes))
    if (axis != group.axes.front() + int64_t(i))
      return false;
  int64_t rows = 1;
  for (int64_t extent : ArrayRef<int64_t>(group.shape).take_front(group.axes.front()))
    rows *= extent;
  return rows >= 8;
}

/// Whether every reduction among the roots keeps its dimensions as 1, so that its result broadcasts against the row.
static bool keepsAllDims(const Group &group) {
  return llvm::all_of(group.roots, [](Operation *op) { return !isOfKind(op, LoopKind::Reduction) || keepsDims(op); });
}

/// Whether the op is the transpose of matrices of 8-bit floats. Products need both orders of most such values
/// (wgmma reads them only along k), and on GPUs one launch writes both (KernelToGpu/TransposedCopy.cpp).
static bool isTransposedCopy(Operation *op) { return transposesMatrices(op) && isFloat8(elementOf(op->getOperand(0))); }

/// Whether the group has one loop nest over the elements of its roots.
static bool isPointwise(const Group &group) { return group.form == kernel::Form::Pointwise && !group.alone; }

/// Whether `root`, alone in its group, can be computed in the launch of the group `producer`, whose values it reads.
bool Grouping::shouldJoin(const Group &producer, const Group &group, Operation *root) {
  if (gpu && isPointwise(producer) && isTransposedCopy(root))
    return producer.roots.contains(root->getOperand(0).getDefiningOp());
  if (producer.alone || group.alone)
    return false;
  // A value that is read at other elements than those where it is computed must be stored in between.
  for (Value v : coneOf(root).moved)
    if (Operation *stored = storedBy(v); stored && producer.roots.contains(stored))
      return false;
  bool rowwise = producer.form == kernel::Form::Row ||
                 (producer.form == kernel::Form::Reduction && isRowwise(producer) && keepsAllDims(producer));
  if (isPointwise(group)) {
    if (isPointwise(producer))
      return producer.shape == group.shape;
    // The group does arithmetic on the reduction's result, at one element of it.
    for (Operation *other : producer.roots)
      if (isOfKind(other, LoopKind::Reduction) && resultShape(other) == ArrayRef<int64_t>(group.shape) &&
          (producer.form == kernel::Form::Reduction || rowwise))
        return true;
    return rowwise && producer.shape == group.shape;
  }
  // The group is a further reduction of the same rows (the sum of exponentials after the maximum).
  return group.form == kernel::Form::Reduction && rowwise && producer.shape == group.shape &&
         producer.axes == group.axes && keepsAllDims(group);
}

void Grouping::mergeProducers(Operation *root) {
  for (bool changed = true; changed;) {
    changed = false;
    Group *group = groupOf[root];
    for (Group *producer : producersOf(group)) {
      if (!shouldJoin(*producer, *group, root) || !canMerge(producer, group))
        continue;
      // Arithmetic on the results of reductions, at one element for each row, leaves them reductions.
      bool ofRows = isPointwise(*group) && producer->form == kernel::Form::Reduction && producer->shape != group->shape;
      // A transposed copy is written by its producer's loops.
      bool ownShape = isPointwise(*producer) && !group->alone;
      Shape shape = ownShape ? group->shape : producer->shape;
      Shape axes = isPointwise(*producer) ? group->axes : producer->axes;
      if (producer->form == kernel::Form::Reduction && !ofRows)
        producer->form = kernel::Form::Row;
      merge(producer, group);
      producer->shape = shape;
      producer->axes = axes;
      changed = true;
      break;
    }
  }
}

/// Merges roots of one shape that read the same tensors, so that they share the loads (the moments of Adam;
/// the two sums of a batch norm's gradient).
void Grouping::mergeSiblings() {
  DenseMap<Value, SmallVector<Group *>> readers;
  for (auto &group : owned)
    for (Operation *root : group->roots)
      for (Value v : inputsOf(root))
        if (shapeOf(v) == ArrayRef<int64_t>(group->shape) && !group->shape.empty())
          readers[v].push_back(group.get());
  // The visits follow program order, so that the result is deterministic.
  auto visit = [&](Value v) {
    auto it = readers.find(v);
    if (it == readers.end())
      return;
    SmallVector<Group *> &sharing = it->second;
    for (size_t i = 0; i < sharing.size(); ++i)
      for (size_t j = i + 1; j < sharing.size(); ++j) {
        Group *a = sharing[i], *b = sharing[j];
        if (a == b || a->roots.empty() || b->roots.empty() || a->form != b->form || a->shape != b->shape ||
            a->axes != b->axes)
          continue;
        bool reduces = a->form == kernel::Form::Reduction;
        if (a->alone || b->alone || (!reduces && !isPointwise(*a)) || a->roots.size() + b->roots.size() > 8 ||
            !canMerge(a, b))
          continue;
        // A reduction that needs the other's result must wait for it.
        if (reduces && (producersOf(a).contains(b) || producersOf(b).contains(a)))
          continue;
        merge(a, b);
        std::replace(sharing.begin(), sharing.end(), b, a);
      }
  };
  for (Value arg : block.getArguments())
    visit(arg);
  for (Operation &op : block)
    for (Value v : op.getResults())
      visit(v);
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
