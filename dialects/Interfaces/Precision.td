//===- Precision.td - numerical safety classes of ops -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Autocast asks an op these questions. The classes are those of torch.amp on CUDA; they describe
// numerical safety only: whether low precision is *fast* on a target is decided by the schedules.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_INTERFACES_PRECISION
#define MPC_INTERFACES_PRECISION
include "mlir/IR/OpBase.td"

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "This interface states the numerical safety of an op's operands, results and accumulator.";
  let methods = [
    StaticInterfaceMethod<"The class of the op.", "::mpc::PrecisionClass", "getPrecisionClass">,
    InterfaceMethod<[{Returns whether operand `i` is fp32 whatever the other operands are (normalisation scales and statistics,
      scalars of the training loop): autocast leaves such an operand alone.}],
      "bool", "isFp32Operand", (ins "unsigned":$i), [{}], [{ return false; }]>
  ];
}
#endif
