//===- Passes.td - heroes as GPU kernels -----------------------------*- tablegen -*-===//
#ifndef MPC_HEROTOGPU_PASSES
#define MPC_HEROTOGPU_PASSES
include "mlir/Pass/PassBase.td"

def HeroToGpuPass : Pass<"mpc-hero-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Emits the GPU kernels of every library dispatch";
  let description = [{
    Appends `llvm.func @h<n>`, and `@h<n>_reduce` where k is split, for the n-th `library` dispatch and annotates the dispatch with `kernels`, `grid` (blocks of
    each), `threads` and, where there are partial sums, `scratch` (bytes). For tests; the compiler calls `emitGpuHero`.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"", "architecture, as sm_80">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::LLVM::LLVMDialect", "::mpc::kernel::KernelDialect"];
}
#endif
