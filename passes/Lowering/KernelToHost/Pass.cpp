//===- Pass.cpp - mpc-kernel-to-host ---------------------------------------------===//
#include "passes/Lowering/KernelToHost/KernelToHost.h"
#include "passes/Lowering/KernelToHost/Passes.h"
#include "passes/Lowering/LoopPlan/LoopForm.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_KERNELTOHOSTPASS
#include "passes/Lowering/KernelToHost/Passes.h.inc"
} // namespace mpc

namespace {
struct KernelToHost : mpc::impl::KernelToHostPassBase<KernelToHost> {
  void runOnOperation() override {
    llvm::SmallVector<kernel::DispatchOp> dispatches;
    getOperation().walk([&](kernel::DispatchOp op) {
      if (!op.getLibrary())
        dispatches.push_back(op);
    });
    Builder b(&getContext());
    for (auto [i, op] : llvm::enumerate(dispatches)) {
      std::string symbol = ("k" + Twine(i)).str();
      std::optional<LoopForm> form = classify(op);
      auto launch = emitHostKernel(op, getOperation(), symbol);
      if (failed(launch))
        return signalPassFailure();
      op->setAttr("kernel", b.getStringAttr(symbol));
      op->setAttr("grid", b.getI64IntegerAttr(launch->grid));
      op->setAttr("grain", b.getI64IntegerAttr(launch->grain));
      const char *names[] = {"pointwise", "reduction", "row", "special"};
      if (form)
        op->setAttr("form", b.getStringAttr(names[int(*form)]));
    }
  }
};
} // namespace
