//===- VerifyArena.cpp - verifies that variables and constants do not overlap -----===//
//
// See Passes.td. The check does not use the plan's own bookkeeping: it reads the offsets that code and
// manifest will use.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Memory/Passes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::memory;

namespace mpc::memory {
#define GEN_PASS_DEF_VERIFYARENAPASS
#include "passes/Memory/Passes.h.inc"
} // namespace mpc::memory

/// Two constants may share a place only if they have the same value.
static LogicalResult verifyDisjoint(ModuleOp module) {
  struct Placed {
    int64_t offset, end;
    Operation *op;
    Attribute value; ///< of a constant
  };
  std::vector<Placed> placed;
  auto add = [&](Operation *op, Type type, Attribute value) {
    if (auto offset = op->getAttrOfType<IntegerAttr>(kOffsetAttr))
      placed.push_back({offset.getInt(), offset.getInt() + std::max<int64_t>(bytesOf(type), 1), op, value});
  };
  for (auto variable : module.getOps<train::VariableOp>())
    add(variable, variable.getType(), {});
  module.walk([&](ConstantOp constant) {
    if (!constant->getParentOfType<kernel::DispatchOp>())
      add(constant, constant.getType(), constant.getValue());
  });
  llvm::stable_sort(placed, [](const Placed &a, const Placed &b) { return a.offset < b.offset; });
  for (size_t i = 1; i < placed.size(); ++i) {
    const Placed &a = placed[i - 1], &b = placed[i];
    if (a.end <= b.offset || (a.value && a.value == b.value && a.offset == b.offset))
      continue;
    InFlightDiagnostic error = b.op->emitOpError("lies at bytes ") << b.offset << " to " << b.end << ", where another constant or variable lies: this is a defect of mpc";
    error.attachNote(a.op->getLoc()) << "the other one, at bytes " << a.offset << " to " << a.end;
    error.attachNote(b.op->getLoc()) << "hint: report it with the model";
    return error;
  }
  return success();
}

namespace {
struct VerifyArena : memory::impl::VerifyArenaPassBase<VerifyArena> {
  void runOnOperation() override {
    if (failed(verifyDisjoint(getOperation())))
      signalPassFailure();
  }
};
} // namespace
