//===- EntryPlanner.cpp - the order and the last uses of what an entry launches ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Memory/EntryPlanner.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;

LogicalResult mpc::memory::verifyTakesTensors(FunctionOpInterface entry) {
  constexpr llvm::StringLiteral hint = "give functions of one block that take tensors of known size; kernels are made "
                                       "after the memory is planned";
  if (!llvm::hasSingleElement(entry.getFunctionBody()))
    return emitErrorWithHint(entry.getLoc(), "entry '" + entry.getName() + "' has several blocks", hint);
  for (auto [i, argument] : llvm::enumerate(entry.getArguments())) {
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (tensor && tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat())
      continue;
    std::string type;
    llvm::raw_string_ostream(type) << argument.getType();
    return emitErrorWithHint(entry.getLoc(),
                             "argument " + Twine(i) + " of entry '" + entry.getName() + "' is " + type +
                                 ", which has no place in the arena",
                             hint);
  }
  return success();
}

void EntryPlanner::forEach(llvm::function_ref<void(kernel::DispatchOp)> dispatch,
                           llvm::function_ref<void(ScanOp)> scan) {
  for (Operation &op : entry.getFunctionBody().front())
    if (auto own = dyn_cast<kernel::DispatchOp>(op)) {
      dispatch(own);
    } else if (auto repeated = dyn_cast<ScanOp>(op)) {
      scan(repeated);
      llvm::for_each(repeated.getBlock().getOps<kernel::DispatchOp>(), dispatch);
    }
}

void EntryPlanner::number() {
  numLaunches = 0;
  positions.clear();
  for (Operation &op : entry.getFunctionBody().front()) {
    if (auto scan = dyn_cast<ScanOp>(op)) {
      int64_t begin = numLaunches++;
      for (auto inner : scan.getBlock().getOps<kernel::DispatchOp>())
        positions[inner] = numLaunches++;
      spans[scan] = {begin, numLaunches++};
    } else if (isa<kernel::DispatchOp, train::AllReduceOp>(op)) {
      positions[&op] = numLaunches++;
    }
  }
}

/// The last launch that reads a storage, directly or through views; the number of launches if the entry returns it. A
/// scan reads its operands until its end, and what an iteration yields is needed until then. What reads it through
/// `besides` does not count.
int64_t EntryPlanner::lastUse(Value storage, Operation *besides) {
  int64_t last = -1;
  for (OpOperand &use : storage.getUses()) {
    Operation *user = use.getOwner();
    if (user == besides)
      continue;
    if (isView(user) && use.getOperandNumber() == 0)
      last = std::max(last, lastUse(user->getResult(0), besides));
    if (isa<ScanYieldOp>(user))
      last = std::max(last, spans.at(user->getParentOp()).second);
    else if (user->hasTrait<OpTrait::IsTerminator>())
      last = numLaunches;
    else if (isa<ScanOp>(user))
      last = std::max(last, spans.at(user).second);
    else if (auto position = positions.find(user); position != positions.end())
      last = std::max(last, position->second);
  }
  return last;
}
