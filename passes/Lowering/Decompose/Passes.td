//===- Passes.td - decomposition ----------------------------------*- tablegen -*-===//
#ifndef MPC_DECOMPOSE_PASSES
#define MPC_DECOMPOSE_PASSES
include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"mpc-decompose", "::mlir::ModuleOp"> {
  let summary = "Composite graph ops become primitive ones";
  let description = [{
    Softmax, log-softmax, losses, batch normalisation and gather_grad of narrow floats become elementwise ops, reductions
    and movement, in fp32 (fp64 for fp64) between one cast up and one cast down, so that fusion sees what they are made of. The result differs
    from the composite op's by the rounding of the fp32 steps; test/codegen states the ULPs.

    Long reductions to few values are then split into two: a tensor of partial results gives every thread something to do, and sums stay short.

    ```mlir
    %s = graph.reduce_sum %x {axes = [0], keepdims = false} : (tensor<1048576xf32>) -> tensor<f32>
    // becomes
    %r = graph.reshape %x : tensor<1048576xf32> to tensor<64x16384xf32>
    %p = graph.reduce_sum %r {axes = [1], keepdims = false} : (tensor<64x16384xf32>) -> tensor<64xf32>
    %s = graph.reduce_sum %p {axes = [0], keepdims = false} : (tensor<64xf32>) -> tensor<f32>
    ```
  }];
  let dependentDialects = ["::mpc::graph::GraphDialect"];
  let options = [Option<"split", "split", "bool", "true", "Split long reductions">];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Composite ops replaced">,
                    Statistic<"numSplit", "split-reductions", "Reductions split in two">];
}
#endif
