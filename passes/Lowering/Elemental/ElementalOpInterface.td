//===- ElementalOpInterface.td - how one element is computed ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_ELEMENTAL_OP_INTERFACE
#define MPC_ELEMENTAL_OP_INTERFACE
include "mlir/IR/OpBase.td"

def ElementalOpInterface : OpInterface<"ElementalOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    An op that can compute one element of a result at a time. It is attached to graph ops as external models
    (passes/Lowering/Elemental/Ops), since the definition of an op does not depend on how it is lowered.
  }];
  let methods = [
    InterfaceMethod<[{Emits the element of result `result` at `index` (one entry per dimension) and returns it in its register type
      (ElementEmitter::registerType), rounded to the result's element type.}],
      "::mlir::Value", "emitElement",
      (ins "unsigned":$result, "::llvm::ArrayRef<::mpc::Index>":$index, "::mpc::ElementEmitter &":$e)>,
    InterfaceMethod<"Returns how much code an element takes besides that of its operands.", "::mpc::ElementCost", "getElementCost">
  ];
}
#endif
