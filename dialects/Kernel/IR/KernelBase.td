//===- KernelBase.td - the kernel dialect ---------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_BASE
#define MPC_KERNEL_BASE
include "mlir/IR/OpBase.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::mpc::kernel";
  let summary = "What one launch computes, and where its operands lie";
  let description = [{
    The fusion pass groups graph ops into `kernel.dispatch`es, one for each launch. A dispatch holds graph ops until it is
    lowered, so that the reference evaluator can compute its results from its inputs and check them. The memory pass gives every tensor of an entry an offset
    in the target's arena.
  }];
  // Ops inside GPU kernels have pointers of the llvm dialect, which their parsers build.
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let useDefaultAttributePrinterParser = 1;
  // These verify the attributes of other dialects' ops: kernel.target, kernel.plan, kernel.entry and kernel.offset (Attributes.cpp).
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}
#endif
