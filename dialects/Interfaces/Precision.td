//===- Precision.td - numerical safety classes of ops -----------*- tablegen -*-===//
//
// What autocast asks an op. The classes are those of torch.amp on CUDA; they speak of numerical safety only:
// whether low precision is *fast* somewhere belongs to the schedules.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_INTERFACES_PRECISION
#define MPC_INTERFACES_PRECISION
include "mlir/IR/OpBase.td"

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "Numerical safety of an op's operands, results and accumulator.";
  let methods = [
    StaticInterfaceMethod<"The class of the op.", "::mpc::PrecisionClass", "getPrecisionClass">,
    InterfaceMethod<[{Whether operand `i` is fp32 whatever the others are (normalisation scales and statistics,
      scalars of the training loop): autocast leaves it alone.}],
      "bool", "isFp32Operand", (ins "unsigned":$i), [{}], [{ return false; }]>
  ];
}
#endif
