//===- TensorOps.td - constants and data movement ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_TENSOR_OPS
#define MPC_GRAPH_TENSOR_OPS
include "dialects/Graph/IR/GraphDialect.td"

def Graph_ConstantOp : Graph_Op<"constant", Neutral, ZeroGrad, GeneratorLoop, [ConstantLike, PermanentStorageTrait, InferTypeOpAdaptor]> {
  let summary = "a tensor known at compile time";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Graph_IotaOp : Graph_Op<"iota", Neutral, ZeroGrad, GeneratorLoop> {
  let summary = "each element is its index along `axis`";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Graph_Number:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_ReshapeOp : Graph_Op<"reshape", Follow, Differentiable, ViewLoop, [SameOperandsAndResultElementType]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def Graph_TransposeOp : Graph_Op<"transpose", Follow, Differentiable, PermutationLoop, [InferTypeOpAdaptor]> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$y);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_BarrierOp : Graph_OpBase<"barrier", Follow, Differentiable, ViewLoop, [AllTypesMatch<["x", "y"]>]> {
  let extraClassDeclaration = classDeclaration # dependsOn;
  let summary = "x itself, once `after` is computed";
  let description = [{
    An op that is computed again from x, to save memory, equals the op that was computed from x before. A barrier keeps the two apart. They are not merged as equal ops, because barriers with different
    numbers are different ops, and the second one does not run early, because the barrier waits for `after`, such as a gradient that the backward pass has just computed. A barrier is no launch and takes no memory.
    JAX has `optimization_barrier` for this.
    ```mlir
    %again = graph.barrier %x after(%dy : tensor<8xf32>) {number = 1 : i64} : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$x, Variadic<Graph_Tensor>:$after, I64Attr:$number);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x (`after` `(` $after^ `:` type($after) `)`)? attr-dict `:` type($y)";
}

def Graph_BroadcastOp : Graph_Op<"broadcast", Follow, Differentiable, BroadcastLoop, [SameOperandsAndResultElementType]> {
  let summary = "numpy broadcast to the result's shape";
  let arguments = (ins Graph_Tensor:$x);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Graph_ConcatOp : Graph_Op<"concat", Promote, Differentiable, MovementLoop, [InferTypeOpAdaptor]> {
  let extraClassDeclaration = classDeclaration # readRange;
  let summary = "concatenation along `axis`";
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Graph_Tensor:$result);
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_Op<"slice", Follow, Differentiable, MovementLoop, [InferTypeOpAdaptor]> {
  let extraClassDeclaration = classDeclaration # readRange;
  let summary = "result[i] = x[starts + i*strides], `sizes` elements per dimension; strides may be negative";
  let arguments = (ins Graph_Tensor:$x, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$y);
  let hasFolder = 1;
}

def Graph_PadOp : Graph_Op<"pad", Follow, Differentiable, MovementLoop, [InferTypeOpAdaptor]> {
  let extraClassDeclaration = classDeclaration # readRange # "bool keepsMagnitudes() { return getValue().isZero(); }\n";
  let summary = "surrounds x with `value`, and puts `interior` copies of it between neighbours";
  let description = [{
    Result dimension d has low[d] + (n-1)*(interior[d]+1) + 1 + high[d] elements (low + high for n = 0). Negative low and high crop.
  }];
  let arguments = (ins Graph_Tensor:$x, F64Attr:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Graph_Tensor:$y);
}

def Graph_GatherOp : Graph_Op<"gather", Follow, Differentiable, MovementLoop, [InferTypeOpAdaptor]> {
  let summary = "result[a..., i..., b...] = x[a..., indices[i...], b...] around `axis`; negative indices count from the end";
  let arguments = (ins Graph_Tensor:$x, Graph_Index:$indices, I64Attr:$axis);
  let results = (outs Graph_Tensor:$y);
}

def Graph_ScatterOp : Graph_Op<"scatter", Follow, Differentiable, ScatterLoop> {
  let extraClassDeclaration = classDeclaration # "::mpc::Combiner getCombiner();\n";
  let summary = "combines updates[a..., i..., b...] into y[a..., indices[i...], b...], in the order of i: deterministic";
  let description = [{
    Elements that go to one place are added, multiplied, or the largest or smallest of them is taken (`mode`). A place to which none goes gets what changes nothing: 0, 1, or the
    lowest or highest number of its type, which is an infinity for floats. Negative indices count from the end. The gradient of a maximum or minimum is shared equally among equal elements.
  }];
  let arguments = (ins Graph_Number:$updates, Graph_Index:$indices, I64Attr:$axis,
                       DefaultValuedAttr<Graph_ScatterModeAttr, "::mpc::graph::ScatterMode::add">:$mode);
  let results = (outs Graph_Number:$y);
  let hasVerifier = 1;
}

def Graph_ResizeOp : Graph_Op<"resize", Fp32, Differentiable, WindowLoop> {
  let summary = "interpolation along some axes (ONNX Resize)";
  let description = [{
    Result element i along an axis reads the operand at coordinate `scale*i + offset` in pixels of the operand; outside it is clamped to the edge.
    With mode nearest it takes the element at `floor(coordinate + nearest_bias)`, or `ceil(coordinate + nearest_bias)` with `nearest_ceil`; with mode
    linear it interpolates between the elements at floor and floor + 1. Each dimension has one scale and one offset; 1 and 0 leave the dimension unchanged.
    Scales are not negative; 0 reads one coordinate for all results.
  }];
  let arguments = (ins Graph_Float:$x, Graph_ResizeModeAttr:$mode, DenseF64ArrayAttr:$scales, DenseF64ArrayAttr:$offsets,
                       DefaultValuedAttr<F64Attr, "0.0">:$nearest_bias, UnitAttr:$nearest_ceil);
  let results = (outs Graph_Float:$y);
  let hasVerifier = 1;
}

def Graph_ResizeGradOp : Graph_Op<"resize_grad", Fp32, Differentiable, WindowLoop> {
  let summary = "transpose of `graph.resize` with the same attributes: cotangent of the result to that of the operand";
  let arguments = (ins Graph_Float:$dy, Graph_ResizeModeAttr:$mode, DenseF64ArrayAttr:$scales, DenseF64ArrayAttr:$offsets,
                       DefaultValuedAttr<F64Attr, "0.0">:$nearest_bias, UnitAttr:$nearest_ceil);
  let results = (outs Graph_Float:$dx);
  let hasVerifier = 1;
}
#endif
