//===- Indexing.td - how results are indexed by operands -------*- tablegen -*-===//
//
// Fusion, layout, loop plans, loss scaling and the search for samples ask an op these questions instead of keeping lists of ops. Every op of the graph dialect states its
// loop kind in its ODS base class; every op but the elementwise ones says which dimensions follow which (dialects/Graph/IR/Indexing.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_INTERFACES_INDEXING
#define MPC_INTERFACES_INDEXING
include "mlir/IR/OpBase.td"

def IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "How the elements of an op's results depend on those of its operands.";
  let methods = [
    StaticInterfaceMethod<"What the op is in a nest of loops.", "::mpc::LoopKind", "getLoopKind">,
    InterfaceMethod<[{Whether `result` depends on the elements of `operand` at all, and not on its shape alone.}],
      "bool", "dependsOn", (ins "::mlir::OpOperand &":$operand, "::mlir::OpResult":$result), [{}], [{ return true; }]>,
    InterfaceMethod<[{The dimension of `result` that follows dimension `dim` of `operand`, which it depends on: both have as many indices, and what the result
      holds at one depends on what the operand holds at that one alone. nullopt: there is none.}],
      "::std::optional<int64_t>", "followingDim", (ins "::mlir::OpOperand &":$operand, "::mlir::OpResult":$result, "int64_t":$dim), [{}],
      [{ return ::mpc::alignedDim(operand, result, dim); }]>,
    InterfaceMethod<[{Whether each element of the results is, but for its sign, an element of an operand or zero, so that no magnitude grows.}],
      "bool", "keepsMagnitudes", (ins), [{}],
      [{ return ConcreteOp::getLoopKind() == ::mpc::LoopKind::View || ConcreteOp::getLoopKind() == ::mpc::LoopKind::Movement; }]>
  ];
}

def ReductionOpInterface : OpInterface<"ReductionOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "An op that combines the elements of its one operand along some dimensions.";
  let methods = [
    InterfaceMethod<"The dimensions that are reduced, ascending.", "::llvm::ArrayRef<int64_t>", "getAxes">,
    InterfaceMethod<"Whether they stay, with one index.", "bool", "getKeepdims">
  ];
}
#endif
