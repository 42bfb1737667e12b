//===- KernelBase.td - the kernel dialect ---------------------------*- tablegen -*-===//
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
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1; // verifies kernel.target of modules, and kernel.threads and the other attributes of kernels (DeviceOps.td)
}
#endif
