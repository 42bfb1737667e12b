//===- Passes.td - constants, common subexpressions, dead code -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_SIMPLIFY
#define MPC_PASSES_SIMPLIFY
include "mlir/Pass/PassBase.td"

def SimplifyPass : Pass<"mpc-simplify", "::mlir::ModuleOp"> {
  let summary = "folds constants, merges common subexpressions, drops dead code";
  let description = [{
    The pass canonicalises every entry, evaluates arithmetic on splats, then merges equal ops (including
    reads of one variable, because a read is pure) and drops ops that no result or assignment needs.

    ```mlir
      %a = graph.constant dense<2.0> : tensor<f32>
      %b = graph.constant dense<3.0> : tensor<f32>
      %c = graph.mul %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %w = train.read @w : tensor<4xf32>
      %v = train.read @w : tensor<4xf32>
      %s = graph.add %w, %v ...
    ```
    becomes
    ```mlir
      %w = train.read @w : tensor<4xf32>
      %s = graph.add %w, %w ...                      // %c = dense<6.0> where it is used
    ```
    A fold computes what the op would compute: in fp32 (fp64 for fp64), rounded once to the result's type. Nothing is reassociated or approximated,
    so the result has the same bits. The pass does not move ops, fold tensors that are not splats (reshapes aside), or touch variables.
  }];
  let statistics = [
    Statistic<"numBefore", "ops-before", "ops before">,
    Statistic<"numAfter", "ops-after", "ops after">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect"];
}
def RecognizePass : Pass<"mpc-recognize", "::mlir::ModuleOp"> {
  let summary = "replaces composed attention, GELU, swish, norms and logarithms by the ops that are made for them";
  let description = [{
    Layer, RMS, L2 and group norms that a network writes as means, powers and roots become `graph.layer_norm` or
    `graph.group_norm`, together with the scale and the bias behind them; logarithms of sigmoids and softmaxes become
    softplus and log_softmax. These ops compute in fp32 whatever is stored, and do not overflow where the composed forms do.

    ```mlir
      %m = graph.reduce_mean %x {axes = array<i64: 1>, keepdims = true}
      %d = graph.sub %x, %m
      %s = graph.mul %d, %d
      %v = graph.reduce_mean %s {axes = array<i64: 1>, keepdims = true}
      %e = graph.add %v, %epsilon
      %r = graph.sqrt %e
      %n = graph.div %d, %r
      %y = graph.mul %n, %scale
    ```
    becomes
    ```mlir
      %y, %mean, %inverse = graph.layer_norm %x, %scale, %zero {axes = array<i64: 1>, epsilon = 1.0e-5 : f64, kind = #graph<norm layer>}
    ```
    A softmax along the last dimension between two products becomes `graph.attention`, with the scale, the mask, the bias and the dropout that stand between them. Scores that something else reads
    too, or with other arithmetic on them, such as a cap, stay as they are, and so do scores that a mask or bias from the data lowers by a finite number. GELU with erf or tanh becomes `graph.gelu`, and x * sigmoid(alpha * x) `graph.swish`.

    The pass runs before autocast, which asks ops for their precision. It does not recognise variances with n - 1, or an epsilon outside the root.
  }];
  let statistics = [Statistic<"numNorms", "norms", "layer, RMS, L2 and group norms that were recognised in other ops">,
                    Statistic<"numAttentions", "attentions", "attentions that were recognised in other ops">];
  let dependentDialects = ["::mpc::graph::GraphDialect"];
}
def JoinProjectionsPass : Pass<"mpc-join-projections", "::mlir::ModuleOp"> {
  let summary = "computes queries, keys and values of one tensor by one product";
  let description = [{
    Where an attention reads the products of one tensor with two or three weights, the weights are concatenated, and one product takes the place of theirs: it reads the
    tensor once, and its gradient is one product too, where the cotangents of the tensor were several products and a sum.

    ```mlir
      %q = graph.matmul %x, %wq ...           // reshaped to heads, and transposed, as %k and %v are
      %k = graph.matmul %x, %wk ...
      %v = graph.matmul %x, %wv ...
      %y, %largest, %log_sum = graph.attention %q_heads, %k_heads, %v_heads
    ```
    becomes
    ```mlir
      %w = graph.concat %wq, %wk, %wv {axis = 1 : i64}
      %p = graph.matmul %x, %w ...            // reshaped to the heads of all three
      %q_rows = graph.slice %p_rows ...       // transposed as before, and read where it lies
      %y, %largest, %log_sum = graph.attention %q_heads, %k_heads, %v_heads
    ```
    Keys and values alone are joined where queries do not fit, as those of a decoder that come from another tensor. The pass leaves products alone whose results something else reads, of which only some have a bias or are trained, or whose heads differ in
    size; and those of a tensor with fewer rows than the weights have, for the weights are copied in every step. It runs behind autocast, so that each weight keeps a copy of its own in 16 bits.
  }];
  let statistics = [Statistic<"numJoined", "joined", "products that were joined with others">];
  let dependentDialects = ["::mpc::graph::GraphDialect"];
}
#endif
