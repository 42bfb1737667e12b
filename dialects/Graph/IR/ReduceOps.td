//===- ReduceOps.td - reductions ---------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_REDUCE_OPS
#define MPC_GRAPH_REDUCE_OPS
include "dialects/Graph/IR/GraphDialect.td"

// The combiner states how two elements become one, see dialects/Interfaces/Indexing.h. A mean divides the sum by the number of elements.
class Combiner<string n, bit m = 0> { string name = n; bit mean = m; }
def AddCombiner : Combiner<"Add">;
def MeanCombiner : Combiner<"Add", 1>;
def MultiplyCombiner : Combiner<"Multiply">;
def MaxCombiner : Combiner<"Max">;
def MinCombiner : Combiner<"Min">;
def OrCombiner : Combiner<"Or">;
def HypotCombiner : Combiner<"Hypot">;

class Graph_ReduceOp<string mnemonic, Precision precision, Gradient gradient, Combiner combiner, Type type = Graph_Number, Loop loop = ReductionLoop>
    : Graph_Op<mnemonic, precision, gradient, loop, [InferTypeOpAdaptor, ReductionOpInterface]> {
  let extraClassDeclaration = classDeclaration #
    "static ::mpc::Combiner getCombiner() { return ::mpc::Combiner::" # combiner.name # "; }\n" #
    "static bool isMean() { return " # !if(combiner.mean, "true", "false") # "; }\n";
  let description = "The op reduces over `axes` (sorted, non-negative) and accumulates in fp32 at least. With `keepdims` the axes stay with size 1.";
  let arguments = (ins type:$x, DenseI64ArrayAttr:$axes, BoolAttr:$keepdims);
  let results = (outs type:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasVerifier = 1;
  // All of this follows from the axes (dialects/Graph/IR/Reductions.h), so a reduction has no code of its own in the dialect but its gradient.
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, ::std::optional<::mlir::Location>, Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(reducedType(adaptor.getX(), adaptor.getAxes(), adaptor.getKeepdims()));
      return ::mlir::success();
    }
    ::llvm::LogicalResult $cppClass::verify() { return verifyReduction(*this); }
    ::mlir::OpFoldResult $cppClass::fold(FoldAdaptor) { return foldReduction(*this); }
    ::std::optional<int64_t> $cppClass::followingDim(::mlir::OpOperand &, ::mlir::OpResult, int64_t dim) { return keptDim(getAxes(), getKeepdims(), dim); }
    ::mlir::Operation *$cppClass::permuted(::mlir::OpBuilder &builder, ::llvm::ArrayRef<int64_t> permutation, ::mlir::ValueRange operands) {
      return permutedReduction(*this, builder, permutation, operands);
    }
  }];
}
def Graph_ReduceSumOp : Graph_ReduceOp<"reduce_sum", Fp32Range, Differentiable, AddCombiner> { let summary = "sum"; }
def Graph_ReduceMeanOp : Graph_ReduceOp<"reduce_mean", Follow, Differentiable, MeanCombiner> { let summary = "mean"; }
def Graph_ReduceMaxOp : Graph_ReduceOp<"reduce_max", Follow, Differentiable, MaxCombiner> { let summary = "maximum; ties share the gradient equally"; }
def Graph_ReduceMinOp : Graph_ReduceOp<"reduce_min", Follow, Differentiable, MinCombiner> { let summary = "minimum; ties share the gradient equally"; }
def Graph_ReduceProdOp : Graph_ReduceOp<"reduce_prod", Fp32Range, Differentiable, MultiplyCombiner> { let summary = "product"; }
def Graph_ReduceL2Op : Graph_ReduceOp<"reduce_l2", Fp32Range, Differentiable, HypotCombiner, Graph_Float, CompositeLoop> {
  let summary = "square root of the sum of squares; its gradient is 0 where it is 0";
}
def Graph_ReduceAnyOp : Graph_ReduceOp<"reduce_any", Neutral, ZeroGrad, OrCombiner, Graph_Bool> { let summary = "whether any is true"; }

def Graph_ArgMaxOp : Graph_Op<"argmax", Neutral, ZeroGrad, WindowLoop, [InferTypeOpAdaptor]> {
  let summary = "index of the maximum along an axis, or with `min` of the minimum; of equal elements the first, or with `last` the last";
  let arguments = (ins Graph_Number:$x, I64Attr:$axis, BoolAttr:$keepdims, UnitAttr:$min, UnitAttr:$last);
  let results = (outs StaticShapeTensorOf<[I64]>:$y);
}
#endif
