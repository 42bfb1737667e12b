//===- Differentiable.td - how an op states its derivative ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every op of the graph dialect says one of three things by an argument of its ODS base class (dialects/Graph/IR/GraphDialect.td):
//   Differentiable   it builds its vector-Jacobian product (dialects/Graph/Gradients);
//   ZeroGrad         its derivative is zero wherever it exists (comparisons, rounding, argmax);
//   NoGrad<why>      it has none that mpc can build, which is an error on a path to a parameter.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_INTERFACES_DIFFERENTIABLE
#define MPC_INTERFACES_DIFFERENTIABLE
include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mpc";
  let description = [{
    This interface differentiates one op in reverse mode. Given the cotangents of its results, the op builds
    the cotangents of those operands that need one. The builder's insertion point is in the backward part of
    the step; the op's operands and results are visible there (and are thereby saved for the backward pass).
  }];
  let methods = [
    InterfaceMethod<"Builds the VJP into `ctx`. Fails, with a diagnostic, when this instance has no derivative.",
      "::llvm::LogicalResult", "buildVjp", (ins "::mpc::VjpContext &":$ctx)>
  ];
}

def NoGradientOpInterface : OpInterface<"NoGradientOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "The op states that mpc has no gradient for it, and why.";
  let methods = [
    StaticInterfaceMethod<"The reason, one clause for a diagnostic.", "::llvm::StringRef", "getNoGradientReason">
  ];
}

def ZeroGradientTrait : NativeOpTrait<"ZeroGradient"> { let cppNamespace = "::mpc"; }
#endif
