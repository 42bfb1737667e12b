//===- ScanOps.td - repetition ------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_SCAN_OPS
#define MPC_GRAPH_SCAN_OPS
include "dialects/Graph/IR/GraphDialect.td"

def Graph_ScanOp : Graph_OpBase<"scan", BodyPrecision, Differentiable, RepeatLoop, [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments, AttrSizedResultSegments],
    [RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "repeats its body a fixed number of times and carries values from one iteration to the next";
  let description = [{
    ```mlir
    // h' = tanh(x[t] w + h u) for t = 0, 1, 2, 3, 4
    %last, %all = graph.scan 5 carry(%h0 : tensor<2x8xf32>) with(%w, %u : tensor<4x8xf32>, tensor<8x8xf32>) over(%x : tensor<5x2x4xf32>)
        -> (tensor<2x8xf32>) stack(tensor<5x2x8xf32>) {
    ^bb0(%h: tensor<2x8xf32>, %wb: tensor<4x8xf32>, %ub: tensor<8x8xf32>, %xt: tensor<2x4xf32>):
      %0 = graph.matmul %xt, %wb : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
      %1 = graph.matmul %h, %ub : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
      %2 = graph.add %0, %1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %3 = graph.tanh %2 : tensor<2x8xf32>
      graph.scan_yield %3, %3 : tensor<2x8xf32>, tensor<2x8xf32>
    }
    ```
    The body is isolated. Its arguments are, in this order:

    - the carried values: those of `carry` in the first iteration, after that what the last iteration yielded first;
    - the invariants of `with`, the same in each iteration;
    - a slice of each tensor of `over`: iteration t has its elements [t, ...], without the first dimension, whose size is the number of iterations.

    The body yields the next carried values, and then one slice of each result of `stack`. With `reverse` the iterations go from the last slice to the first, in operands and results alike.
    The first results are the values that the last iteration carried on; with no iterations they are the operands.

    The op maps to ONNX Scan and to JAX's `lax.scan`. Its gradient is a scan in the other direction, which gets what the forward iterations leave to it as further stacked results.
    The body holds no scan of its own, and ops that have no effects beyond their operands and results. (A dispatch that has places in the arena reads its operands there and writes its
    results; the scan then has these effects.)
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$trips, UnitAttr:$reverse, Variadic<Graph_Tensor>:$inits, Variadic<Graph_Tensor>:$invariants,
                       Variadic<Graph_Tensor>:$stacked);
  let results = (outs Variadic<Graph_Tensor>:$finals, Variadic<Graph_Tensor>:$stacks);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trips (`reverse` $reverse^)? (`carry` `(` $inits^ `:` type($inits) `)`)? (`with` `(` $invariants^ `:` type($invariants) `)`)? (`over` `(` $stacked^ `:` type($stacked) `)`)?
    attr-dict-with-keyword (`->` `(` type($finals)^ `)`)? (`stack` `(` type($stacks)^ `)`)? $body
  }];
  let builders = [OpBuilder<(ins "int64_t":$trips, "bool":$reverse, "::mlir::ValueRange":$inits, "::mlir::ValueRange":$invariants, "::mlir::ValueRange":$stacked, "::mlir::TypeRange":$stacks)>];
  let extraClassDeclaration = classDeclaration # dependsOn # [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// The arguments of the body; argument i belongs to operand i, and what the body yields as value i to result i.
    ::llvm::MutableArrayRef<::mlir::BlockArgument> carried() { return getBlock().getArguments().take_front(getInits().size()); }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> invariantArguments() { return getBlock().getArguments().slice(getInits().size(), getInvariants().size()); }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> slices() { return getBlock().getArguments().take_back(getStacked().size()); }
    ::mlir::OperandRange yielded() { return getBlock().getTerminator()->getOperands(); }
    bool isCarried(unsigned i) { return i < getInits().size(); }
    bool isInvariant(unsigned i) { return i >= getInits().size() && i < getInits().size() + getInvariants().size(); }
    bool isStacked(unsigned i) { return i >= getInits().size() + getInvariants().size(); }
    /// The type of an iteration's slice of a stacked tensor, and back.
    static ::mlir::RankedTensorType sliceType(::mlir::Type stacked);
    static ::mlir::RankedTensorType stackType(int64_t trips, ::mlir::Type slice);
  }];
  let hasCanonicalizer = 1;
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def Graph_ScanYieldOp : Op<Graph_Dialect, "scan_yield", [Pure, Terminator, HasParent<"ScanOp">]> {
  let summary = "what an iteration carries on, and then its slices of the stacked results";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange());">];
}
#endif
