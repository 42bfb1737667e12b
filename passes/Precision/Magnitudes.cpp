// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Precision/Magnitudes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::precision;

Value precision::largestMagnitude(OpBuilder &b, Location loc, ArrayRef<Value> values) {
  SmallVector<Value> maxima = llvm::map_to_vector(values, [&](Value x) {
    GraphBuilder here{b, x.getLoc()};
    return here.cast(overAll<ReduceMaxOp>(here, here.abs(x)), b.getF32Type());
  });
  // This is a tree, so that no chain is as long as the network is deep.
  GraphBuilder here{b, loc};
  while (maxima.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < maxima.size(); i += 2)
      next.push_back(here.max(maxima[i], maxima[i + 1]));
    if (maxima.size() % 2)
      next.push_back(maxima.back());
    maxima = std::move(next);
  }
  return maxima[0];
}

namespace {
/// Values that depend on the scale.
class Dependents {
public:
  Dependents(Block &block, Value scale) : values{scale} { addFrom(block); }

  bool contains(Value v) const { return values.contains(v); }
  SmallVector<Value> cotangentsIn(Block &block) const;
  Value returnMagnitudes(ScanOp scan, ArrayRef<Value> watched);

private:
  void addFrom(Block &block);
  void addFrom(ScanOp scan);

  DenseSet<Value> values;
};
} // namespace

void Dependents::addFrom(Block &block) {
  for (Operation &op : block) {
    if (llvm::none_of(op.getOperands(), [&](Value v) { return contains(v); }))
      continue;
    if (auto scan = dyn_cast<ScanOp>(op))
      addFrom(scan);
    else
      values.insert_range(op.getResults());
  }
}

void Dependents::addFrom(ScanOp scan) {
  for (auto [v, argument] : llvm::zip_equal(scan.getOperands(), scan.getBlock().getArguments()))
    if (contains(v))
      values.insert(argument);
  // What an iteration carries on makes the next iteration's values depend on the scale, too.
  for (bool changed = true; changed;) {
    changed = false;
    addFrom(scan.getBlock());
    for (auto [argument, next] : llvm::zip(scan.carried(), scan.yielded()))
      changed |= contains(next) && values.insert(argument).second;
  }
  for (auto [v, result] : llvm::zip_equal(scan.yielded(), scan.getResults()))
    if (contains(v))
      values.insert(result);
}

SmallVector<Value> Dependents::cotangentsIn(Block &block) const {
  SmallVector<Value> result;
  for (Operation &op : block) {
    auto indexed = dyn_cast<IndexingOpInterface>(op);
    if (indexed && indexed.keepsMagnitudes())
      continue;
    for (Value v : op.getResults())
      if (contains(v) && isFloat(v) && isLowPrecision(elementOf(v)))
        result.push_back(v);
  }
  return result;
}

/// Replaces the scan by one that also returns the largest magnitude of these values of its body in each iteration.
/// Returns that result.
Value Dependents::returnMagnitudes(ScanOp scan, ArrayRef<Value> watched) {
  Operation *yield = scan.getBlock().getTerminator();
  OpBuilder inner(yield), outer(scan);
  Value largest = largestMagnitude(inner, scan.getLoc(), watched);
  yield->insertOperands(yield->getNumOperands(), largest);
  SmallVector<Type> stacks(scan.getStacks().getTypes());
  stacks.push_back(ScanOp::stackType(scan.getTrips(), largest.getType()));
  auto made = ScanOp::create(outer, scan.getLoc(), scan.getTrips(), scan.getReverse(), scan.getInits(),
                             scan.getInvariants(), scan.getStacked(), stacks);
  made->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  made.getBody().takeBody(scan.getBody());
  for (auto [old, result] : llvm::zip(scan.getResults(), made.getResults())) {
    if (values.erase(old))
      values.insert(result);
    old.replaceAllUsesWith(result);
  }
  scan.erase();
  return made.getResults().back();
}

SmallVector<Value> precision::findCotangents(Block &block, Value scale) {
  Dependents dependents(block, scale);
  SmallVector<Value> magnitudes;
  for (auto scan : llvm::make_early_inc_range(block.getOps<ScanOp>())) {
    // A stacked result is watched outside, where all of its slices are.
    ValueRange stacked = scan.yielded().drop_front(scan.getInits().size());
    SmallVector<Value> watched = dependents.cotangentsIn(scan.getBlock());
    llvm::erase_if(watched, [&](Value v) { return llvm::is_contained(stacked, v); });
    if (!watched.empty())
      magnitudes.push_back(dependents.returnMagnitudes(scan, watched));
  }
  SmallVector<Value> result = dependents.cotangentsIn(block);
  llvm::append_range(result, magnitudes);
  return result;
}
