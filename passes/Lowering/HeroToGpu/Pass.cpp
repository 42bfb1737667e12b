//===- Pass.cpp - mpc-hero-to-gpu ---------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "passes/Lowering/HeroToGpu/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_HEROTOGPUPASS
#include "passes/Lowering/HeroToGpu/Passes.h.inc"
} // namespace mpc

namespace {
struct HeroToGpu : mpc::impl::HeroToGpuPassBase<HeroToGpu> {
  using HeroToGpuPassBase::HeroToGpuPassBase;

  void runOnOperation() override {
    const GpuArch *known = findGpuArch(arch);
    if (!known) {
      getOperation().emitError("unknown architecture '") << arch << "'; known are " << gpuArchNames();
      return signalPassFailure();
    }
    llvm::SmallVector<kernel::DispatchOp> dispatches;
    getOperation().walk([&](kernel::DispatchOp op) {
      if (op.getLibrary())
        dispatches.push_back(op);
    });
    Builder b(&getContext());
    for (auto [i, op] : llvm::enumerate(dispatches)) {
      auto kernels = emitGpuHero(op, getOperation(), ("h" + Twine(i)).str(), *known);
      if (failed(kernels))
        return signalPassFailure();
      llvm::SmallVector<Attribute> symbols;
      llvm::SmallVector<int64_t> grid, threads;
      for (const GpuKernel &kernel : *kernels) {
        symbols.push_back(b.getStringAttr(kernel.symbol));
        grid.push_back(kernel.launch.grid[0]);
        threads.push_back(kernel.launch.threads);
      }
      op->setAttr("kernels", b.getArrayAttr(symbols));
      op->setAttr("grid", b.getDenseI64ArrayAttr(grid));
      op->setAttr("threads", b.getDenseI64ArrayAttr(threads));
      if (int64_t bytes = heroScratchBytes(op, *known))
        op->setAttr("scratch", b.getI64IntegerAttr(bytes));
    }
  }
};
} // namespace
