//===- SavedBytes.cpp - what the forward pass leaves to the backward pass ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Memory/EntryPlanner.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;

/// The ops that compute the results of a launch or scan: the members of a batch, or else the op itself.
static SmallVector<Operation *> unitsOf(Operation *op) {
  if (auto batch = dyn_cast<kernel::DispatchOp>(op); batch && batch.isBatch())
    return llvm::to_vector_of<Operation *>(batch.members());
  return {op};
}
/// The op that computes a storage; null for what is read or given.
static Operation *unitOf(Value v) {
  if (auto dispatch = v.getDefiningOp<kernel::DispatchOp>())
    return dispatch.isBatch() ? dispatch.memberOf(cast<OpResult>(v).getResultNumber()).first : dispatch;
  return v.getDefiningOp<ScanOp>();
}
/// The storages that such an op reads.
static SmallVector<Value> storagesOf(Operation *unit) {
  auto batch = dyn_cast<kernel::DispatchOp>(unit->getParentOp());
  SmallVector<Value> storages;
  for (Value v : unit->getOperands())
    storages.push_back(storageOf(batch ? batch.getInputs()[cast<BlockArgument>(v).getArgNumber()] : v));
  return storages;
}

int64_t EntryPlanner::savedBytes() {
  Operation *terminator = entry.getFunctionBody().front().getTerminator();
  if (terminator->getNumOperands() == 0)
    return 0;
  // The forward pass is found by dependence, not by order: no launch waits for the loss, so it may be the
  // last one.
  llvm::SetVector<Operation *> forward;
  auto reach = [&](Value storage) {
    if (Operation *unit = unitOf(storage))
      forward.insert(unit);
  };
  reach(storageOf(terminator->getOperand(0)));
  for (size_t i = 0; i < forward.size(); ++i)
    llvm::for_each(storagesOf(forward[i]), reach);
  llvm::SmallDenseSet<unsigned> saved;
  for (Operation &op : entry.getFunctionBody().front()) {
    if (!isa<kernel::DispatchOp, ScanOp>(op))
      continue;
    for (Operation *unit : unitsOf(&op)) {
      if (forward.contains(unit))
        continue;
      for (Value storage : storagesOf(unit)) {
        std::optional<unsigned> interval = intervalOf(storage);
        if (interval && (isa<BlockArgument>(storage) || forward.contains(unitOf(storage))))
          saved.insert(*interval);
      }
    }
  }
  int64_t bytes = 0;
  for (unsigned i : saved)
    bytes += intervals[i].bytes;
  return bytes;
}
