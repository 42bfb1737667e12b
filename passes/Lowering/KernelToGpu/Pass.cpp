//===- Pass.cpp - mpc-kernel-to-gpu ---------------------------------------------===//
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "passes/Lowering/KernelToGpu/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_KERNELTOGPUPASS
#include "passes/Lowering/KernelToGpu/Passes.h.inc"
} // namespace mpc

namespace {
struct KernelToGpu : mpc::impl::KernelToGpuPassBase<KernelToGpu> {
  using KernelToGpuPassBase::KernelToGpuPassBase;
  void runOnOperation() override {
    llvm::SmallVector<kernel::DispatchOp> dispatches;
    getOperation().walk<WalkOrder::PreOrder>([&](kernel::DispatchOp op) {
      if (!op.getLibrary())
        dispatches.push_back(op);
      return WalkResult::skip(); // members of a batch are part of it
    });
    Builder b(&getContext());
    for (auto [i, op] : llvm::enumerate(dispatches)) {
      std::string symbol = ("k" + Twine(i)).str();
      auto launch = emitGpuKernel(op, getOperation(), symbol);
      if (failed(launch))
        return signalPassFailure();
      op->setAttr("kernel", b.getStringAttr(symbol));
      op->setAttr("grid", b.getDenseI64ArrayAttr(launch->grid));
      op->setAttr("threads", b.getI64IntegerAttr(launch->threads));
    }
    if (only)
      for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
        if (!isa<LLVM::LLVMFuncOp, LLVM::GlobalOp>(op))
          op.erase();
  }
};
} // namespace
