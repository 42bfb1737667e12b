//===- SinkDispatches.cpp - computes large values late -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. The rule looks at one dispatch at a time: moving it must not raise the live bytes at any
// launch between its old and its new place (except for a few bytes, see smallBytes).
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Memory/Passes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace mpc::memory {
#define GEN_PASS_DEF_SINKDISPATCHESPASS
#include "passes/Memory/Passes.h.inc"
} // namespace mpc::memory
using namespace mpc::memory;

/// For a small value, the operands that are kept longer may be larger than it by this much. Otherwise a flag
/// would keep a large gradient from moving to the end of the backward pass.
constexpr int64_t smallBytes = 4096;

namespace {

/// Keeps the order of a block's ops while some of them move. Operation::isBeforeInBlock would number the
/// whole block again after every move; this class does so only once in about forty moves to one place.
class Places {
public:
  explicit Places(Block &block) : block(block) { number(); }
  bool isBefore(Operation *a, Operation *b) const { return labels.at(a) < labels.at(b); }
  void moveBefore(Operation *op, Operation *next) {
    op->moveBefore(next);
    int64_t low = labels.at(op->getPrevNode()), high = labels.at(next);
    labels[op] = low + (high - low) / 2;
    if (labels[op] == low)
      number();
  }

private:
  void number() {
    int64_t label = 0, gap = (int64_t(1) << 62) / (int64_t(block.getOperations().size()) + 1);
    for (Operation &op : block)
      labels[&op] = label += gap;
  }
  Block &block;
  DenseMap<Operation *, int64_t> labels;
};

class BlockSinker {
public:
  explicit BlockSinker(Block &block) : block(block), places(block) {
    for (auto assign : block.getOps<train::AssignOp>()) {
      auto producer = storageOf(assign.getValue()).getDefiningOp<kernel::DispatchOp>();
      assigned[assign.getVariableAttr()] = producer ? producer : assign.getOperation();
    }
  }
  unsigned run() {
    unsigned sunk = 0;
    SmallVector<kernel::DispatchOp> dispatches(block.getOps<kernel::DispatchOp>());
    for (kernel::DispatchOp dispatch : llvm::reverse(dispatches))
      sunk += sink(dispatch);
    return sunk;
  }

private:
  bool sink(kernel::DispatchOp dispatch);
  Operation *lastReader(Value storage);

  Block &block;
  Places places;
  /// Maps a variable to the launch that computes its new value, which writes it where the assignment is in place.
  DenseMap<Attribute, Operation *> assigned;
  DenseMap<Value, Operation *> lastReaders;
};

struct SinkDispatches : memory::impl::SinkDispatchesPassBase<SinkDispatches> {
  void runOnOperation() override {
    if (failed(kernel::verifyNotPlanned(getOperation(), getArgument())))
      return signalPassFailure();
    for (auto entry : getOperation().getOps<FunctionOpInterface>())
      if (!entry.isExternal())
        numSunk += BlockSinker(entry.getFunctionBody().front()).run();
  }
};
} // namespace

Operation *BlockSinker::lastReader(Value storage) {
  auto [known, isNew] = lastReaders.try_emplace(storage);
  if (isNew) {
    SmallVector<Operation *> readers;
    usersThroughViews(storage, readers);
    known->second = *llvm::max_element(readers, [&](Operation *a, Operation *b) { return places.isBefore(a, b); });
  }
  return known->second;
}

bool BlockSinker::sink(kernel::DispatchOp dispatch) {
  SmallVector<Operation *> users;
  SmallVector<Operation *> views;
  int64_t freed = 0, kept = 0;
  for (Value result : dispatch->getResults()) {
    usersThroughViews(result, users, &views);
    freed += bytesOf(result.getType());
  }
  if (users.empty() || !llvm::all_of(users, [](Operation *user) { return isa<kernel::DispatchOp>(user); }))
    return false; // it is assigned or returned, so it has to stay where its buffer is written
  Operation *first = *llvm::min_element(users, [&](Operation *a, Operation *b) { return places.isBefore(a, b); });
  // The dispatch stays where it is if only views stand between it and its reader.
  Operation *next = dispatch->getNextNode();
  while (next != first && !isa<kernel::DispatchOp>(next))
    next = next->getNextNode();
  if (next == first)
    return false;

  llvm::SmallDenseSet<Value> seen;
  for (Value input : dispatch.getInputs()) {
    Value storage = storageOf(input);
    if (!seen.insert(storage).second)
      continue;
    if (auto read = storage.getDefiningOp<train::ReadOp>())
      if (Operation *writer = assigned.lookup(read.getVariableAttr()); writer && !places.isBefore(first, writer))
        return false; // the dispatch would come after the assignment, which then could not be in place
    if (isPermanent(storage))
      continue;
    // An input counts only if nothing reads it at or after the new place anyway.
    if (places.isBefore(lastReader(storage), first))
      kept += bytesOf(storage.getType());
  }
  if (freed + smallBytes <= kept)
    return false;
  places.moveBefore(dispatch, first);
  // Parents come before their children. A view behind the new place stays: a barrier waits there for another value.
  for (Operation *view : views)
    if (places.isBefore(view, first))
      places.moveBefore(view, first);
  for (Value input : dispatch.getInputs())
    if (auto known = lastReaders.find(storageOf(input));
        known != lastReaders.end() && places.isBefore(known->second, dispatch))
      known->second = dispatch;
  return true;
}
