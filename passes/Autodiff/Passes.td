//===- Passes.td - reverse-mode differentiation -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_AUTODIFF
#define MPC_PASSES_AUTODIFF
include "mlir/Pass/PassBase.td"

def AutodiffPass : Pass<"mpc-autodiff", "::mlir::ModuleOp"> {
  let summary = "appends the backward pass to every train.step";
  let description = [{
    The pass walks each `train.step` backwards from its loss and asks every op on a path to a trained
    parameter for its vector-Jacobian product (DifferentiableOpInterface); it knows no op by name.

    ```mlir
    train.step @main(%x: tensor<2x3xf32>) -> tensor<f32> attributes {parameters = [@w], ...} {
      %w = train.read @w : tensor<2x3xf32>
      %p = graph.mul %x, %w ...
      %l = graph.reduce_sum %p {axes = [0, 1]} ...
      train.yield %l
    ```
    becomes
    ```mlir
      ...
      %seed = train.seed : tensor<f32>                 // d loss/d loss; the loss scale replaces it later
      %dp = graph.broadcast %seed : tensor<f32> to tensor<2x3xf32>
      %dw = graph.mul %dp, %x ...
      train.update @w, %dw : tensor<2x3xf32>
      train.yield %l
    ```
    Contributions to one value are added in the value's own type (as in torch). The gradient of a value
    that no parameter needs is not built. Backward ops have the location of the op that they differentiate.

    No gradient passes a `graph.stop_gradient`; at the end each is replaced by its operand, in all entries of the module.

    An op without a gradient on a path to a parameter is an error that names the path; all such ops are reported. A parameter that
    the loss does not depend on causes a warning and is not updated. A step that already holds a `train.update` is left alone.
  }];
  let statistics = [
    Statistic<"numVjps", "vjps", "ops differentiated">,
    Statistic<"numSums", "accumulations", "additions of contributions to one gradient">,
    Statistic<"numUpdates", "updates", "parameters that got a gradient">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::train::TrainDialect"];
}
#endif
