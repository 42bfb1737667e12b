//===- SinkDispatches.cpp - computes large values late -----------------------===//
//
// See Passes.td. The rule looks at one dispatch at a time: at no launch between its old and its new place does it
// make the live bytes more (but for a few, see smallBytes).
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

/// What is kept longer for a small value may be larger than it by this much: a flag is all that stands between a
/// large gradient and the end of the backward pass.
constexpr int64_t smallBytes = 4096;

namespace {
struct SinkDispatches : memory::impl::SinkDispatchesPassBase<SinkDispatches> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<FunctionOpInterface>())
      if (!entry.isExternal())
        sinkAll(entry.getFunctionBody().front());
  }

  void sinkAll(Block &block) {
    llvm::SmallDenseSet<Attribute> assigned;
    for (auto assign : block.getOps<train::AssignOp>())
      assigned.insert(assign.getVariableAttr());
    SmallVector<kernel::DispatchOp> dispatches(block.getOps<kernel::DispatchOp>());
    for (kernel::DispatchOp dispatch : llvm::reverse(dispatches))
      numSunk += sink(dispatch, assigned);
  }

  bool sink(kernel::DispatchOp dispatch, const llvm::SmallDenseSet<Attribute> &assigned) {
    SmallVector<Operation *> users;
    SmallVector<ReshapeOp> views;
    int64_t freed = 0, kept = 0;
    for (Value result : dispatch->getResults()) {
      usersThroughViews(result, users, &views);
      freed += bytesOf(result.getType());
    }
    if (users.empty() || !llvm::all_of(users, [](Operation *user) { return isa<kernel::DispatchOp>(user); }))
      return false; // assigned or returned: where it stands is where its buffer is written
    Operation *first = *llvm::min_element(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

    llvm::SmallDenseSet<Value> seen;
    for (Value input : dispatch.getInputs()) {
      Value storage = storageOf(input);
      if (!seen.insert(storage).second)
        continue;
      if (auto read = storage.getDefiningOp<train::ReadOp>()) {
        if (assigned.contains(read.getVariableAttr()))
          return false; // it would come after the assignment, which then could not be in place
        continue;
      }
      if (storage.getDefiningOp<ConstantOp>())
        continue;
      SmallVector<Operation *> readers;
      usersThroughViews(storage, readers);
      // Read at or behind the new place anyway?
      if (llvm::none_of(readers, [&](Operation *reader) { return reader == first || first->isBeforeInBlock(reader); }))
        kept += bytesOf(storage.getType());
    }
    bool adjacent = true;
    for (Operation *op = dispatch->getNextNode(); op != first; op = op->getNextNode())
      adjacent &= !isa<kernel::DispatchOp>(op);
    if (adjacent || freed + smallBytes <= kept)
      return false;
    dispatch->moveBefore(first);
    for (ReshapeOp view : views) // parents come before their children
      view->moveBefore(first);
    return true;
  }
};
} // namespace
