//===- Passes.td - device ops to PTX's dialect ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_DEVICETONVVM_PASSES
#define MPC_DEVICETONVVM_PASSES
include "mlir/Pass/PassBase.td"

def DeviceToNvvmPass : Pass<"mpc-device-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Lowers the device ops of kernels to the nvvm and llvm dialects";
  let description = [{
    Every `llvm.func` with `kernel.entry` becomes a PTX entry point with exactly as many threads in a block (`min_blocks`, where it is not 0, bounds its
    registers); its device ops become nvvm ops, its shared memory globals of address space 3. An op that the GPU of the module's `kernel.target` does not have is an error.
    scf, arith and math stay as they are. The compiler calls `lowerDeviceOps` from compiler/Codegen.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}
#endif
