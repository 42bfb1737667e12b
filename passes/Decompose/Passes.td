//===- Passes.td - decomposition of composite ops ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_DECOMPOSE_PASSES
#define MPC_DECOMPOSE_PASSES
include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"mpc-decompose"> {
  let summary = "Decomposes composite graph ops into primitive ones, so that fusion sees their parts";
  let description = [{
    softmax, log_softmax, the classification losses, norms and means become reductions and elementwise arithmetic in fp32, between a cast
    from the op's type and one to it: so there is one rounding, as the op promises.

    ```mlir
    %y = graph.softmax %x {axis = 1 : i64} : tensor<8x10xf16>
    // becomes
    %0 = graph.cast %x : tensor<8x10xf16> to tensor<8x10xf32>
    %1 = graph.reduce_max %0 {axes = array<i64: 1>, keepdims = true} ...
    %2 = graph.exp (graph.sub %0, %1)
    %3 = graph.reduce_sum %2 {axes = array<i64: 1>, keepdims = true} ...
    %y = graph.cast (graph.div %2, %3) : tensor<8x10xf32> to tensor<8x10xf16>
    ```
    The pass is for targets that have no kernel of their own for these ops.

    The pads whose sum is the gradient of a split become a concatenation, a concatenation that begins as an earlier one reads its
    result, and one of more than 64 tensors becomes one of concatenations.

    A widening cast moves behind a reshape, a narrowing one before it, so that the smaller type is in memory between launches.

    On GPUs a depthwise convolution becomes a graph.depthwise_conv, its input gradient a graph.depthwise_input_grad, and its weight gradient a sum of products for each position of the
    window, unless the window has more than 49 positions.

    A graph.scan reads and writes the slices of stacked tensors in place, where kernels rely on the alignment of tensors (64 bytes). Slices of another size are padded: those of operands before
    the scan, those of results in its body.
    ```mlir
    %y = graph.scan 6 over(%x : tensor<6x5xf32>) stack(tensor<6x5xf32>) { ... }
    // becomes
    %0 = graph.pad %x {high = array<i64: 0, 11>, ...} : (tensor<6x5xf32>) -> tensor<6x16xf32>
    %1 = graph.scan 6 over(%0 : tensor<6x16xf32>) stack(tensor<6x16xf32>) { ... }
    %y = graph.slice %1 {sizes = array<i64: 6, 5>, ...} : (tensor<6x16xf32>) -> tensor<6x5xf32>
    ```
  }];
  let dependentDialects = ["::mpc::graph::GraphDialect", "::mpc::kernel::KernelDialect"];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Composite ops taken apart">];
}

def DecomposeAttentionPass : Pass<"mpc-decompose-attention"> {
  let summary = "Decomposes attention into products and softmaxes, in blocks of queries";
  let description = [{
    ```mlir
    %y, %largest, %log_sum = graph.attention %q, %k, %v mask %m {scale = 0.125 : f64} : (tensor<2x4x9x64xbf16>, ...
    // becomes
    %0 = graph.matmul %q, %k {transpose_b} ...
    %1 = graph.select %m, (graph.mul (graph.cast %0), 0.125), -inf
    %largest = graph.reduce_max %1 {axes = array<i64: 3>, keepdims = true} ...
    %3 = graph.exp (graph.sub %1, %largest)
    %4 = graph.reduce_sum %3 {axes = array<i64: 3>, keepdims = true} ...
    %log_sum = graph.log %4
    %y = graph.div (graph.matmul (graph.cast %3), %v), %4 ...
    ```
    In f16 the exponentials are divided before the product, whose sums could be beyond 65504. Where all scores together take 16 times `block-bytes` or more, and numbers are not dropped, a `graph.scan` over the heads computes them in blocks of that many bytes, so that they stay in
    the CPU's caches and are never in memory as a whole. A block of queries leaves out the keys before the first one and behind the last one that it sees, if mask and bias follow from constants: of
    causal attention about half. The gradient computes the scores again, block by block. A bias that heads have of their own and samples share, and heads whose number has no fitting divisor, leave an attention whole.

    On a GPU that has a kernel for an attention (`whyNoAttentionKernel` in dialects/Kernel/Analysis/AttentionKernel.h says when) the attention stays. A mask or bias that follows from constants and hides all keys
    but those near a query, as that of causal attention does, becomes the attributes `before` and `after` there, by which the kernel leaves out tiles of keys.
    The pass comes before layout, which knows the ops that it makes.
  }];
  let options = [
    Option<"blockBytes", "block-bytes", "int64_t", "0", "Bytes of the scores of a block in fp32; with 0, attention is not divided">,
  ];
  let dependentDialects = ["::mpc::graph::GraphDialect"];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Attentions and their gradients taken apart">];
}
#endif
