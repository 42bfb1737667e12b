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

/// Returns the inputs that the body of a dispatch, which is no batch, reads for one of its results.
static llvm::SmallSetVector<unsigned, 8> inputsRead(kernel::DispatchOp dispatch, unsigned result) {
  llvm::SmallSetVector<unsigned, 8> inputs;
  llvm::SmallSetVector<Value, 16> work;
  work.insert(dispatch.getBody().front().getTerminator()->getOperand(result));
  for (size_t i = 0; i < work.size(); ++i)
    if (auto argument = dyn_cast<BlockArgument>(work[i]))
      inputs.insert(argument.getArgNumber());
    else
      work.insert_range(work[i].getDefiningOp()->getOperands());
  return inputs;
}

/// Returns the storages from which a result of a launch or scan is computed. The results of one launch may belong to
/// different passes: the loss may be computed in one with the search for overflow in the gradients.
static SmallVector<Value> sourcesOf(OpResult result) {
  SmallVector<Value> sources;
  auto dispatch = dyn_cast<kernel::DispatchOp>(result.getOwner());
  if (!dispatch) {
    for (Value v : result.getOwner()->getOperands())
      sources.push_back(storageOf(v));
    return sources;
  }
  auto [unit, own] =
      dispatch.isBatch() ? dispatch.memberOf(result.getResultNumber()) : std::pair(dispatch, result.getResultNumber());
  for (unsigned i : inputsRead(unit, own)) {
    Value input = unit.getInputs()[i];
    sources.push_back(
        storageOf(dispatch.isBatch() ? dispatch.getInputs()[cast<BlockArgument>(input).getArgNumber()] : input));
  }
  return sources;
}

int64_t EntryPlanner::savedBytes() {
  Block &block = entry.getFunctionBody().front();
  Operation *terminator = block.getTerminator();
  if (terminator->getNumOperands() == 0)
    return 0;
  // The forward pass is found by dependence, not by order: no launch waits for the loss, so it may be the
  // last one.
  llvm::SetVector<Value> forward;
  auto reach = [&](Value storage) {
    if (isa_and_nonnull<kernel::DispatchOp, ScanOp>(storage.getDefiningOp()))
      forward.insert(storage);
  };
  reach(storageOf(terminator->getOperand(0)));
  for (size_t i = 0; i < forward.size(); ++i)
    llvm::for_each(sourcesOf(cast<OpResult>(forward[i])), reach);
  // A launch of the forward pass may compute another result beside, from values of the forward pass alone. That result
  // belongs to the forward pass, too: an example is the gradient of the scores beside the loss.
  auto isForward = [&](Value storage) {
    return !isa_and_nonnull<kernel::DispatchOp, ScanOp>(storage.getDefiningOp()) || forward.contains(storage);
  };
  SmallVector<Value> beside;
  for (Value storage : forward)
    for (OpResult result : storage.getDefiningOp()->getResults())
      if (llvm::all_of(sourcesOf(result), isForward))
        beside.push_back(result);
  forward.insert_range(beside);
  llvm::SmallDenseSet<unsigned> saved;
  for (Operation &op : block) {
    if (!isa<kernel::DispatchOp, ScanOp>(op))
      continue;
    for (OpResult result : op.getResults()) {
      if (forward.contains(result))
        continue;
      for (Value storage : sourcesOf(result)) {
        std::optional<unsigned> interval = intervalOf(storage);
        if (interval && (isa<BlockArgument>(storage) || forward.contains(storage)))
          saved.insert(*interval);
      }
    }
  }
  int64_t bytes = 0;
  for (unsigned i : saved)
    bytes += intervals[i].bytes;
  return bytes;
}
