//===- Passes.td - GPU kernels ------------------------------------*- tablegen -*-===//
#ifndef MPC_KERNELTOGPU_PASSES
#define MPC_KERNELTOGPU_PASSES
include "mlir/Pass/PassBase.td"

def KernelToGpuPass : Pass<"mpc-kernel-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Emits the GPU kernel of every loop dispatch";
  let description = [{
    Appends `llvm.func @k<n>` for the n-th dispatch that is not marked `library` and annotates the dispatch with `kernel`, `grid` (blocks per
    axis) and `threads`. For tests; the compiler calls `emitGpuKernel` from compiler/Codegen.
  }];
  let options = [Option<"only", "only", "bool", "false", "Leaves nothing but the kernels, as mpc-ptx takes them">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::LLVM::LLVMDialect", "::mpc::kernel::KernelDialect"];
}
#endif
