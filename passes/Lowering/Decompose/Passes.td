//===- Passes.td - decomposition of composite ops ------------------*- tablegen -*-===//
#ifndef MPC_DECOMPOSE_PASSES
#define MPC_DECOMPOSE_PASSES
include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"mpc-decompose"> {
  let summary = "Composite graph ops become primitive ones, so that fusion sees their parts";
  let description = [{
    softmax, log_softmax, the classification losses, batch norms and means become reductions and elementwise arithmetic in fp32 between a cast
    from and one to the op's type: one rounding, as the op promises.

    ```mlir
    %y = graph.softmax %x {axis = 1 : i64} : tensor<8x10xf16>
    // becomes
    %0 = graph.cast %x : tensor<8x10xf16> to tensor<8x10xf32>
    %1 = graph.reduce_max %0 {axes = array<i64: 1>, keepdims = true} ...
    %2 = graph.exp (graph.sub %0, %1)
    %3 = graph.reduce_sum %2 {axes = array<i64: 1>, keepdims = true} ...
    %y = graph.cast (graph.div %2, %3) : tensor<8x10xf32> to tensor<8x10xf16>
    ```
    For targets that have no kernel of their own for these ops.
  }];
  let dependentDialects = ["::mpc::graph::GraphDialect"];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Composite ops taken apart">];
}
#endif
