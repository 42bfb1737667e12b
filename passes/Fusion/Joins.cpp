//===- Joins.cpp - which groups share a launch: producers with readers, and siblings ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/ProductResults.h"
#include "passes/Fusion/Grouping.h"
#include "passes/Fusion/Splits.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::fusion;

static bool keepsDims(Operation *reduction) { return cast<ReductionOpInterface>(reduction).getKeepdims(); }

/// Whether the axes are the last ones of the shape, with enough rows before them to share among threads. Rows that are
/// long and few are divided among threads instead (mpc-split-reductions).
static bool isRowwise(const Group &group, const GpuArch *gpu) {
  if (group.axes.empty() || group.axes.back() != int64_t(group.shape.size()) - 1)
    return false;
  for (auto [i, axis] : llvm::enumerate(group.axes))
    if (axis != group.axes.front() + int64_t(i))
      return false;
  int64_t rows = 1;
  for (int64_t extent : ArrayRef<int64_t>(group.shape).take_front(group.axes.front()))
    rows *= extent;
  return rows >= 8 && !splitOf(group.shape, group.axes, gpu);
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

/// Returns whether the launch of a product also computes `sums`, which sum up columns of what it computes. The launch
/// adds the rows of its tiles while their elements are in registers; a launch of the sums' own would read them again. A
/// product of few tiles is divided along k, and then no launch has its elements. A sum that reads another sum needs all
/// tiles of that one first. On the host the sums are another pass over memory.
bool Grouping::joinsProduct(const Group &product, const Group &sums) {
  constexpr int64_t tile = 128 * 128;
  constexpr size_t mostSums = 4; // each thread has a register for each sum of its columns
  auto sumsOf = [](const Group &group) {
    return size_t(llvm::count_if(group.roots, [](Operation *root) { return isOfKind(root, LoopKind::Reduction); }));
  };
  auto contraction = cast<ContractionOpInterface>(product.contraction);
  RankedTensorType type = typeOf(contraction->getResult(0));
  auto isSumHere = [&](Value v) {
    Operation *stored = storedBy(v);
    return stored && isOfKind(stored, LoopKind::Reduction) && product.roots.contains(stored);
  };
  return gpu && sums.form == kernel::Form::Reduction && sums.ops <= gpu->epilogueOps &&
         sumsOf(product) + sumsOf(sums) <= mostSums && 2 * type.getNumElements() >= tile * gpu->multiprocessors &&
         llvm::all_of(sums.roots, [&](Operation *root) {
           const Cone &cone = coneOf(root);
           return kernel::sumsColumns(contraction, root) && cone.moved.empty() && !cone.draws &&
                  llvm::none_of(cone.inputs, isSumHere);
         });
}

/// Returns whether a product, or a view of the value that one reads, needs the value in memory.
static bool isReadByProduct(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    return isOfKind(user, LoopKind::Contraction) || (isView(user) && isReadByProduct(user->getResult(0)));
  });
}

/// Returns whether the launch of a product also stores the values of `group`: arithmetic on what it stores, for another
/// product (the GELU of a layer, whose operand the backward pass reads, too). A launch of their own would read the
/// product from memory again. What else they read must take few registers, so it is numbers only.
bool Grouping::storesBesideProduct(const Group &product, const Group &group) {
  constexpr size_t mostStored = 2; // elements of the product's shape; threads compute all of them before they store one
  auto stores = [](const Group &group) {
    return size_t(llvm::count_if(group.roots, [](Operation *root) { return !isOfKind(root, LoopKind::Reduction); }));
  };
  auto isNear = [&](Value v) {
    Operation *stored = v.getDefiningOp();
    return typeOf(v).getNumElements() == 1 ||
           (stored && product.roots.contains(stored) && shapeOf(v) == ArrayRef<int64_t>(group.shape));
  };
  return gpu && isPointwise(group) && group.ops <= kMostBesideProducts &&
         stores(product) + stores(group) <= mostStored &&
         resultShape(product.contraction) == ArrayRef<int64_t>(group.shape) &&
         llvm::all_of(group.roots, [&](Operation *root) {
           const Cone &cone = coneOf(root);
           return cone.moved.empty() && !cone.draws && llvm::all_of(cone.inputs, isNear) &&
                  isReadByProduct(root->getResult(0));
         });
}

/// Returns whether the launch of `producer` stores the concatenation `root` in parts: it computes all of its operands,
/// at the same points (kernel::StoredParts). Another value of those points or another such concatenation must be
/// stored besides, because the loops of one concatenation alone walk its own elements.
bool Grouping::storesInParts(const Group &producer, Operation *root) const {
  auto isPart = [&](Value v) {
    return v.getDefiningOp() && producer.roots.contains(v.getDefiningOp()) &&
           shapeOf(v) == ArrayRef<int64_t>(producer.shape);
  };
  auto joinsParts = [&](Operation *op) {
    return isa<ConcatOp>(op) && op->getNumOperands() > 1 && llvm::all_of(op->getOperands(), isPart);
  };
  if (!isPointwise(producer) || !joinsParts(root))
    return false;
  // A reader that is inlined may be part of this launch.
  auto isReadElsewhere = [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return user != root && !inlined.contains(user) && !producer.roots.contains(user) &&
             (!isa<ConcatOp>(user) || joinsParts(user));
    });
  };
  return llvm::any_of(producer.roots, [&](Operation *op) {
    return resultShape(op) == ArrayRef<int64_t>(producer.shape) ? isReadElsewhere(op) : op != root && joinsParts(op);
  });
}

/// Whether `group`, of which `root` is the latest root, can be computed in the launch of the group `producer`, whose
/// values `root` reads.
bool Grouping::shouldJoin(const Group &producer, const Group &group, Operation *root) {
  if (gpu && isPointwise(producer) && isTransposedCopy(root))
    return producer.roots.contains(root->getOperand(0).getDefiningOp());
  if (producer.contraction)
    return joinsProduct(producer, group) || storesBesideProduct(producer, group);
  if (storesInParts(producer, root))
    return group.roots.size() == 1;
  if (producer.alone || group.alone)
    return false;
  // A value that is read at other elements than those where it is computed must be stored in between.
  for (Operation *reader : group.roots)
    for (Value v : coneOf(reader).moved)
      if (Operation *stored = storedBy(v); stored && producer.roots.contains(stored))
        return false;
  bool rowwise = producer.form == kernel::Form::Row ||
                 (producer.form == kernel::Form::Reduction && isRowwise(producer, gpu) && keepsAllDims(producer));
  if (isPointwise(group)) {
    if (isPointwise(producer))
      return producer.shape == group.shape;
    // Loops that reduce store no concatenation in parts.
    if (llvm::any_of(group.roots, [&](Operation *op) { return resultShape(op) != ArrayRef<int64_t>(group.shape); }))
      return false;
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
      // A transposed copy and the parts of a concatenation are written by their producer's loops.
      bool ownShape = isPointwise(*producer) && !group->alone && !storesInParts(*producer, root);
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

/// The most values that siblings store together: their sums are in registers. Nine are those of the gradient of a
/// depthwise 3x3 convolution's weights.
static constexpr size_t kMostResults = 9;

/// Returns whether two groups of one form, with the same loops, may be one launch.
bool Grouping::mayShareReads(Group *a, Group *b) {
  if (a == b || a->roots.empty() || b->roots.empty() || a->form != b->form || a->shape != b->shape ||
      a->axes != b->axes || a->alone || b->alone || a->roots.size() + b->roots.size() > kMostResults || !canMerge(a, b))
    return false;
  // A reduction that needs the other's result must wait for it.
  return a->form != kernel::Form::Reduction || (!producersOf(a).contains(b) && !producersOf(b).contains(a));
}

/// Merges a reduction with an earlier one that reads the same tensor, or another result of the same reductions (the
/// second stages of split sums), before arithmetic that needs the results of both joins one of them.
void Grouping::mergeSibling(Operation *reduction) {
  Group *group = groupOf[reduction];
  for (Value v : inputsOf(reduction)) {
    if (shapeOf(v) != ArrayRef<int64_t>(group->shape))
      continue;
    Value key = storageOf(v);
    if (Group *producer = groupOf.lookup(key.getDefiningOp()); producer && producer->form == kernel::Form::Reduction)
      key = producer->roots.front()->getResult(0);
    SmallVector<Operation *, 2> &others = reductionsOf[key];
    for (Operation *other : others)
      if (Group *earlier = groupOf[other]; mayShareReads(earlier, group)) {
        merge(earlier, group);
        group = earlier;
      }
    others.push_back(reduction);
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
        if ((a->form != kernel::Form::Reduction && !isPointwise(*a)) || !mayShareReads(a, b))
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
