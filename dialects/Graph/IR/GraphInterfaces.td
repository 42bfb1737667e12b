//===- GraphInterfaces.td - what families of graph ops have in common -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These interfaces speak of the graph dialect's own attributes. The ODS base classes of the families declare them.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_GRAPH_INTERFACES
#define MPC_GRAPH_INTERFACES
include "mlir/IR/OpBase.td"

def ConvolutionOpInterface : OpInterface<"ConvolutionOpInterface"> {
  let cppNamespace = "::mpc::graph";
  let description = "A convolution y = conv(x, w), or the cotangent of x or of w. One of the three tensors is the op's result, the other two are its operands.";
  let methods = [
    InterfaceMethod<"Returns x, or its cotangent where that is the result.", "::mlir::Value", "getInput">,
    InterfaceMethod<"Returns w, or its cotangent where that is the result.", "::mlir::Value", "getWeight">,
    InterfaceMethod<"Returns y, or its cotangent where that is an operand.", "::mlir::Value", "getOutput">,
    InterfaceMethod<"", "::llvm::ArrayRef<int64_t>", "getStrides">,
    InterfaceMethod<"", "::llvm::ArrayRef<int64_t>", "getDilations">,
    InterfaceMethod<"", "::llvm::ArrayRef<int64_t>", "getPadLow">,
    InterfaceMethod<"", "::llvm::ArrayRef<int64_t>", "getPadHigh">,
    InterfaceMethod<"", "uint64_t", "getGroups">,
    InterfaceMethod<"", "::mpc::graph::Layout", "getLayout">,
    InterfaceMethod<"", "bool", "getWeightChannelsLast">
  ];
}

def ClassificationLossOpInterface : OpInterface<"ClassificationLossOpInterface"> {
  let cppNamespace = "::mpc::graph";
  let description = "The op compares scores [N, C, d...] with labels [N, d...]; the result has a loss for each label, or one number.";
  let methods = [
    InterfaceMethod<"Returns the scores.", "::mlir::Value", "getScores", (ins), [{ return $_op->getOperand(0); }]>,
    InterfaceMethod<"Returns the labels.", "::mlir::Value", "getLabels">,
    InterfaceMethod<"Returns the weights [C] of the classes, or null.", "::mlir::Value", "getWeights">,
    InterfaceMethod<"Returns what the op does with the losses of the labels.", "::mpc::graph::LossReduction", "getReduction">,
    InterfaceMethod<"Returns the label that does not count.", "::std::optional<uint64_t>", "getIgnoreIndex">,
    InterfaceMethod<"Builds the same op with another reduction.", "::mlir::Value", "withReduction",
      (ins "::mlir::OpBuilder &":$builder, "::mpc::graph::LossReduction":$reduction),
      [{ return ConcreteOp::create(builder, $_op.getLoc(), $_op->getOperand(0), $_op.getLabels(), $_op.getWeights(), reduction, $_op.getIgnoreIndexAttr()); }]>
  ];
}

def NormOpInterface : OpInterface<"NormOpInterface"> {
  let cppNamespace = "::mpc::graph";
  let description = "A normalisation y = norm(x), or the cotangents of one. Its first operand is the activation x; the operands and results of x's shape have x's dimensions.";
  let methods = [
    InterfaceMethod<"Returns the activation.", "::mlir::Value", "getX">,
    InterfaceMethod<[{Returns the dimension of the activation that has the channels: operands and results of one dimension have a number for each of them. Returns nullopt where
      all operands and results broadcast to the activation instead, as numpy does, and no attribute names one dimension, so that each of them may be split.}],
      "::std::optional<int64_t>", "getChannelAxis">,
    StaticInterfaceMethod<"Returns whether dimension 0 of the activation has the samples, each of which is normalised on its own, and has to stay the first.",
      "bool", "keepsSamplesFirst">
  ];
}

def ProbabilityOpInterface : OpInterface<"ProbabilityOpInterface"> {
  let cppNamespace = "::mpc::graph";
  let description = "The op turns scores, its one operand, into probabilities or their logarithms.";
  let methods = [
    InterfaceMethod<[{Returns the dimension of the classes, whose probabilities have the sum 1; nullopt where each element is the probability of a yes.}],
      "::std::optional<int64_t>", "getClassAxis">
  ];
}
#endif
