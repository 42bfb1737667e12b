//===- AttentionOps.td - attention and its gradient ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_ATTENTION_OPS
#define MPC_GRAPH_ATTENTION_OPS
include "dialects/Graph/IR/GraphDialect.td"

// The operands and attributes that attention and its gradient share.
defvar AttentionOperands = (ins Graph_Float:$q, Graph_Float:$k, Graph_Float:$v, Optional<Graph_Bool>:$mask, Optional<Graph_StatFloat>:$bias,
                                Optional<StaticShapeTensorOf<[I64]>>:$seed, Optional<StaticShapeTensorOf<[I64]>>:$step);
defvar AttentionAttributes = (ins F64Attr:$scale, OptionalAttr<F64Attr>:$fill, OptionalAttr<I64Attr>:$before, OptionalAttr<I64Attr>:$after, UnitAttr:$zero_rows, OptionalAttr<F64Attr>:$ratio, OptionalAttr<I64Attr>:$salt);

class Graph_AttentionOp<string mnemonic, Gradient gradient, list<Trait> traits>
    : Graph_OpBase<mnemonic, LowPrecision, gradient, CompositeLoop, !listconcat([AttrSizedOperandSegments], traits)> {
  string attentionDeclaration = classDeclaration # dependsOn # "bool isFp32Operand(unsigned i);\n";
  let extraClassDeclaration = attentionDeclaration;
  let hasVerifier = 1;
}

def Graph_AttentionOp : Graph_AttentionOp<"attention", Differentiable, [InferTypeOpAdaptor]> {
  let summary = "softmax(scale q k^T + bias) v, for each head";
  let description = [{
    q is [B, H, M, D], k is [B, K, N, D] and v is [B, K, N, V]; each head of k and v serves H/K neighbouring heads of q. With

      s = scale q k^T + bias, or `fill` (-infinity without the attribute) where mask is false,
      largest = max over the keys of s, log_sum = log(sum over the keys of e^(s - largest)),
      p = e^(s - largest - log_sum), y = dropout(p) v

    (Vaswani et al. 2017, equation 1), y is [B, H, M, V] with q's element type. largest and log_sum are [B, H, M, 1] in fp32 (fp64 for fp64), and all that the gradient needs
    beside y (Dao et al. 2022, section 3.1). They are apart, because their sum would lose log_sum where masks hide all keys of a query by a very low number. mask and bias have four dimensions, each that of the scores [B, H, M, N] or 1. What a mask does
    at keys n < m - `before` and n > m + `after` of query m, these attributes do without one: causal attention has `after` 0. They leave each query a key, unless there is `zero_rows`. Scores may be rounded to q's type, as those of a
    `graph.matmul` are; arithmetic on them is fp32 (fp64 for fp64), and p is rounded once. Where a query sees no key, p is NaN, as that of a softmax is; with `zero_rows` p is 0 and
    log_sum is infinite there. With `ratio` and `salt`, and the operands of `dropout`, p is dropped as a `graph.dropout` of p is.

    ```mlir
    %y, %largest, %log_sum = graph.attention %q, %k, %v mask %m {scale = 1.25e-1 : f64} : (tensor<2x4x9x64xf16>, tensor<2x4x9x64xf16>, tensor<2x4x9x64xf16>, tensor<1x1x9x9xi1>) -> (tensor<2x4x9x64xf16>, tensor<2x4x9x1xf32>, tensor<2x4x9x1xf32>)
    ```
  }];
  let arguments = !con(AttentionOperands, AttentionAttributes);
  let results = (outs Graph_Float:$y, Graph_StatFloat:$largest, Graph_StatFloat:$log_sum);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`bias` $bias^)? (`dropout` $seed^ `,` $step)? attr-dict `:` functional-type(operands, results)
  }];
}
def Graph_AttentionGradOp : Graph_AttentionOp<"attention_grad", NoGrad<"second derivatives of attention are not supported">, []> {
  let summary = "cotangents of an attention's q, k, v and bias";
  let description = [{
    With s, p, largest and log_sum as in `graph.attention`, and delta = sum over V of dy y, which is the sum over the keys of p dp (Dao et al. 2022, appendix B.4) and is [B, H, M, 1]:

      dv = dropout(p)^T dy, dp = dropout(dy v^T), ds = p (dp - delta), dq = scale ds k, dk = scale ds^T q.

    p and ds are rounded once to q's type. dbias, which is given where it is asked for, is the sum of ds over the dimensions in which the bias is repeated.
  }];
  let arguments = !con(AttentionOperands, (ins Graph_StatFloat:$largest, Graph_StatFloat:$log_sum, Graph_StatFloat:$delta, Graph_Float:$dy), AttentionAttributes);
  let results = (outs Graph_Float:$dq, Graph_Float:$dk, Graph_Float:$dv, Optional<Graph_StatFloat>:$dbias);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`bias` $bias^)? (`dropout` $seed^ `,` $step)? `from` $largest `,` $log_sum `,` $delta `,` $dy attr-dict `:` functional-type(operands, results)
  }];
}
#endif
