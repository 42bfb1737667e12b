//===- Passes.td - host kernels ------------------------------------*- tablegen -*-===//
#ifndef MPC_KERNELTOHOST_PASSES
#define MPC_KERNELTOHOST_PASSES
include "mlir/Pass/PassBase.td"

def KernelToHostPass : Pass<"mpc-kernel-to-host", "::mlir::ModuleOp"> {
  let summary = "Emits the host kernel of every loop dispatch";
  let description = [{
    Appends `llvm.func @k<n>` for the n-th dispatch that is not marked `library` and annotates the dispatch with `kernel`, `grid`, `grain` and
    `form` (absent where fusion should not have formed it). For tests; the compiler calls `emitHostKernel` from compiler/Codegen.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::LLVM::LLVMDialect"];
}
#endif
