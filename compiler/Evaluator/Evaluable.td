//===- Evaluable.td - ops that the reference evaluator can run ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_EVALUATOR_EVALUABLE
#define MPC_EVALUATOR_EVALUABLE
include "mlir/IR/OpBase.td"

def EvaluableOpInterface : OpInterface<"EvaluableOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "An op with a reference meaning on host tensors. The interface is attached as an external model, since dialects do not know the evaluator.";
  let methods = [
    InterfaceMethod<[{Computes the results, which have their shape and are zero, in float64 and without rounding: the evaluator rounds.
      Fails, with a diagnostic, on values for which the op has no meaning (an index out of range).}],
      "::llvm::LogicalResult", "evaluate", (ins "::mpc::Evaluation &":$evaluation)>
  ];
}
#endif
