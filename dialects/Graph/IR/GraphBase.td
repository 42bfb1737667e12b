//===- GraphBase.td - the graph dialect and its types ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_BASE
#define MPC_GRAPH_BASE
include "mlir/IR/OpBase.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::mpc::graph";
  let summary = "Networks as people think of them: tensor ops of training, forward and backward";
  let description = [{
    Ops have value semantics and work on statically shaped tensors. The meaning of an op is the real-number function it names,
    evaluated with exact products and at least fp32 accumulation and rounded once, to nearest even, to the element type of its
    result. Binary ops broadcast as numpy does and take operands of one element type; conversions are always explicit `graph.cast`s.

    Activations are logical `[N, C, spatial...]` (`channels_first`) as in ONNX; the layout pass turns the ops that have a layout
    to `channels_last`. Weights are `[O, C/groups, spatial...]` in both layouts, unless `weight_channels_last` says otherwise.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

//===-- Types ---------------------------------------------------------------===//

def Graph_FloatElement : AnyTypeOf<[F16, BF16, F32, F64], "float">;
def Graph_IntElement : AnyTypeOf<[I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64], "integer">;
/// 8-bit floats are for storage and for operands of products: casts and ops that only move elements take them, arithmetic does not.
def Graph_Float8Element : AnyTypeOf<[F8E4M3FN, F8E5M2], "8-bit float">;
def Graph_Element : AnyTypeOf<[F8E4M3FN, F8E5M2, F16, BF16, F32, F64, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64], "element">;

def Graph_Tensor : StaticShapeTensorOf<[Graph_Element]>;
def Graph_Float : StaticShapeTensorOf<[F16, BF16, F32, F64]>;
def Graph_Factor : StaticShapeTensorOf<[F8E4M3FN, F8E5M2, F16, BF16, F32, F64]>;
def Graph_F32 : StaticShapeTensorOf<[F32]>;
def Graph_StatFloat : StaticShapeTensorOf<[F32, F64]>;
def Graph_Int : StaticShapeTensorOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def Graph_Index : StaticShapeTensorOf<[I32, I64]>;
def Graph_Bool : StaticShapeTensorOf<[I1]>;
def Graph_Number : StaticShapeTensorOf<[F16, BF16, F32, F64, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;

#endif
