//===- PlanArena.cpp - gives every tensor a fixed offset in one arena ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. The pass runs on entries that consist of dispatches, views, train.reads,
// train.assigns, and scans, whose bodies consist of dispatches and views.
//
//===----------------------------------------------------------------------===//
#include "dialects/Support/Diagnostics.h"
#include "passes/Memory/EntryPlanner.h"
#include "passes/Memory/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;
using kernel::kOffsetAttr;

namespace mpc::memory {
#define GEN_PASS_DEF_PLANARENAPASS
#include "passes/Memory/Passes.h.inc"
} // namespace mpc::memory

/// Checks that an entry, or the body of a scan, consists of the ops that have a place in the arena, or that only
/// launches and assignments use.
static LogicalResult verifyDispatched(Block &block) {
  for (Operation &op : block.without_terminator())
    if (auto scan = dyn_cast<ScanOp>(op)) {
      if (failed(verifyDispatched(scan.getBlock())))
        return failure();
    } else if (!isView(&op) && !op.hasTrait<PermanentStorage>() && !isa<kernel::DispatchOp, train::AssignOp>(op)) {
      return emitErrorWithHint(op.getLoc(),
                               "'" + op.getName().getStringRef() +
                                   "' op is in no dispatch, so its tensors have no place in the arena",
                               "run mpc-form-dispatches before mpc-plan-arena");
    }
  return success();
}

namespace {
struct PlanArena : memory::impl::PlanArenaPassBase<PlanArena> {
  void runOnOperation() override {
    for (auto entry : getOperation().getOps<FunctionOpInterface>())
      if (!entry.isExternal() &&
          (failed(verifyTakesTensors(entry)) || failed(verifyDispatched(entry.getFunctionBody().front()))))
        return signalPassFailure();
    Builder builder(&getContext());
    int64_t offset = 0;
    // A tensor without elements gets a place of its own too, because other code distinguishes constants and
    // variables by their offsets.
    auto reserve = [&](Operation *op, int64_t bytes) {
      op->setAttr(kOffsetAttr, builder.getI64IntegerAttr(offset));
      offset = llvm::alignTo(offset + std::max<int64_t>(bytes, 1), kTensorAlignment);
    };
    for (auto variable : getOperation().getOps<train::VariableOp>())
      reserve(variable, bytesOf(variable.getType()));
    int64_t stateBytes = offset;
    DenseMap<Attribute, Attribute> constants;
    getOperation().walk([&](ConstantOp constant) {
      if (constant->getParentOfType<kernel::DispatchOp>())
        return;
      auto [it, isNew] = constants.try_emplace(constant.getValue());
      if (isNew) {
        reserve(constant, bytesOf(constant.getType()));
        it->second = constant->getAttr(kOffsetAttr);
      }
      constant->setAttr(kOffsetAttr, it->second);
    });

    train::VariableTable variables(getOperation());
    int64_t base = offset, end = base, peak = base, saved = 0;
    for (auto entry : getOperation().getOps<FunctionOpInterface>()) {
      if (entry.isExternal())
        continue;
      EntryPlanner planner(entry, variables);
      numCopies += planner.insertCopies();
      numInPlace += planner.assignBuffers();
      int64_t entryEnd = planner.place(base);
      end = std::max(end, entryEnd);
      planner.annotate();
      // A trace entry keeps every gradient to its end; training never touches those pages.
      if (entry->hasAttr("trace"))
        continue;
      peak = std::max(peak, entryEnd);
      if (isa<train::StepOp>(entry))
        saved = std::max(saved, planner.savedBytes());
    }
    getOperation()->setAttr(kernel::PlanAttr::name,
                            kernel::PlanAttr::get(&getContext(), end, stateBytes, /*constant_bytes=*/base - stateBytes,
                                                  /*temporary_bytes=*/peak - base, peak, saved));
  }
};
} // namespace
