//===- Passes.td - fusion passes ----------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_FUSION_PASSES
#define MPC_FUSION_PASSES
include "mlir/Pass/PassBase.td"

def FormDispatchesPass : Pass<"mpc-form-dispatches", "::mlir::ModuleOp"> {
  let summary = "Groups the ops of every entry into dispatches, one for each launch";
  let description = [{
    A dispatch computes its *roots*, the values that have to exist in memory; everything cheap between them is computed in registers, and computed again
    in each dispatch that needs it where that saves a pass over memory (a widening cast is never stored).

      contraction      a matmul or convolution, with what its kernel computes behind it: any arithmetic on the elements of its result on a GPU, a bias for each column on the host;
      pointwise        roots of one iteration shape, each element computed from elements of the inputs, concatenations of such roots, which are stored in parts, or one op that reads other elements than it computes (pooling, transposes with the arithmetic in front of them);
      transposed_copy  8-bit floats and the transpose of their matrices, on GPUs;
      reduction        roots that reduce the same axes of one iteration shape, and arithmetic on their results;
      row              reductions over trailing axes and full-shape results that use them (softmax), a row at a time;
      scatter          a graph.scatter.

    The form follows from the body (`#kernel.form`).

    Reshapes stay between dispatches: they are views and cost nothing.
  }];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numDispatches", "dispatches", "Dispatches formed">,
                    Statistic<"numOps", "ops", "Ops in them, clones included">];
}

def SplitReductionsPass : Pass<"mpc-split-reductions", "::mlir::ModuleOp"> {
  let summary = "Splits dispatches that reduce many elements to few in two";
  let description = [{
    The first one reduces pieces, the second one their results: a tensor of partial results gives every thread of the host or every block of the module's GPU work, and keeps sums short.
    Arithmetic on the results is in the second one.
    ```mlir
    %s = kernel.dispatch reduction "norm" (%x) : (tensor<1048576xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<1048576xf32>):
      %0 = graph.mul %a, %a : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
      %1 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xf32>) -> tensor<f32>
      %2 = graph.sqrt %1 : tensor<f32>
      kernel.yield %2 : tensor<f32>
    }
    // becomes
    %v = graph.reshape %x : tensor<1048576xf32> to tensor<64x16384xf32>
    %p = kernel.dispatch reduction "norm" (%v) : (tensor<64x16384xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64x16384xf32>):
      %0 = graph.mul %a, %a : (tensor<64x16384xf32>, tensor<64x16384xf32>) -> tensor<64x16384xf32>
      %1 = graph.reduce_sum %0 {axes = array<i64: 1>, keepdims = false} : (tensor<64x16384xf32>) -> tensor<64xf32>
      kernel.yield %1 : tensor<64xf32>
    }
    %s = kernel.dispatch reduction "norm" (%p) : (tensor<64xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<64xf32>):
      %1 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<64xf32>) -> tensor<f32>
      %2 = graph.sqrt %1 : tensor<f32>
      kernel.yield %2 : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numSplit", "split-reductions", "Dispatches split in two">];
}

def BatchDispatchesPass : Pass<"mpc-batch-dispatches", "::mlir::ModuleOp"> {
  let summary = "Puts small independent dispatches into one launch";
  let description = [{
    On a GPU a launch costs more than a small dispatch does: the updates of a network's parameters, the searches for overflow in their gradients, the
    statistics of its norms. Dispatches that do not read one another become members of one dispatch, a batch, at the place of the last of them, as long as
    the values that stay alive until there do not raise the peak of live bytes. Large dispatches stay alone, except for updates of variables, which are all at
    the end of a step. In the body of a scan, whose launches repeat, the peak may rise by 1 MiB. Elsewhere dispatches that read only what is in memory when
    the entry starts, such as transposes of weights, are moved to its start first, as long as their results have at most 1 MiB together.
  }];
  let dependentDialects = ["::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numBatches", "batches", "Batches formed">, Statistic<"numMembers", "members", "Dispatches in them">];
}
#endif
