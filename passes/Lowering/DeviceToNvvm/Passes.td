//===- Passes.td - device ops to PTX's dialect ----------------------*- tablegen -*-===//
#ifndef MPC_DEVICETONVVM_PASSES
#define MPC_DEVICETONVVM_PASSES
include "mlir/Pass/PassBase.td"

def DeviceToNvvmPass : Pass<"mpc-device-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Lowers the device ops of kernels to the nvvm and llvm dialects";
  let description = [{
    Every `llvm.func` with `kernel.threads` becomes a PTX entry point with exactly that many threads in a block (`kernel.min_blocks`, if it is there, bounds its
    registers); its device ops become nvvm ops, its shared memory globals of address space 3. An op that the architecture does not have is an error.
    scf, arith and math stay as they are. The pass is for tests; the compiler calls `lowerDeviceOps` from compiler/Codegen.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"", "architecture whose instructions may be used">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}
#endif
