//===- Contraction.td - matrix products and convolutions -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of contractions ask an op these questions. Every op of the loop kind Contraction answers them (dialects/Graph/IR/Contractions.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_INTERFACES_CONTRACTION
#define MPC_INTERFACES_CONTRACTION
include "mlir/IR/OpBase.td"

def ContractionOpInterface : OpInterface<"ContractionOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "The op sums products of the elements of its first two operands, and has one result.";
  let methods = [
    InterfaceMethod<"Returns the op as a matrix product.", "::mpc::MatrixProduct", "getProduct">,
    InterfaceMethod<[{Returns the dimension of the result that a bias belongs to: it has one number for each index, added to all sums there.
      Returns nullopt for gradients, which have no bias.}], "::std::optional<int64_t>", "getBiasDim">
  ];
}
#endif
