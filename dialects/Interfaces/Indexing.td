//===- Indexing.td - how results are indexed by operands -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fusion, layout, loop plans, loss scaling and the search for the samples' dimensions ask an op these questions instead
// of keeping lists of ops. Every op of the graph dialect states its loop kind in its ODS base class; every op but the
// elementwise ones says which dimensions of its results follow which of its operands (dialects/Graph/IR/Indexing.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_INTERFACES_INDEXING
#define MPC_INTERFACES_INDEXING
include "mlir/IR/OpBase.td"

def IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "This interface says how the elements of an op's results depend on those of its operands.";
  let methods = [
    StaticInterfaceMethod<"What the op is in a nest of loops.", "::mpc::LoopKind", "getLoopKind">,
    StaticInterfaceMethod<[{Returns whether the op draws random numbers: an element of its result depends on its own row-major number too, and costs much to compute
      again.}], "bool", "drawsNumbers">,
    InterfaceMethod<[{Returns how many neighbours along the last dimension of the result share work, or after how many of them the work repeats; 1 if neither.}],
      "int64_t", "getPeriod">,
    InterfaceMethod<[{Returns whether `result` depends on the elements of `operand` at all, and not on its shape alone.}],
      "bool", "dependsOn", (ins "::mlir::OpOperand &":$operand, "::mlir::OpResult":$result), [{}], [{ return true; }]>,
    InterfaceMethod<[{Returns the dimension of `result` that follows dimension `dim` of `operand`, which is an operand that `result` depends on. Both dimensions
      have the same size, and the elements of `result` at an index of the one depend only on the elements of `operand` at the same index of the other.
      Returns nullopt where there is no such dimension.}],
      "::std::optional<int64_t>", "followingDim", (ins "::mlir::OpOperand &":$operand, "::mlir::OpResult":$result, "int64_t":$dim), [{}],
      [{ return ::mpc::alignedDim(operand, result, dim); }]>,
    InterfaceMethod<[{Returns whether each element of the results is, but for its sign, an element of an operand or zero, so that no magnitude grows.}],
      "bool", "keepsMagnitudes", (ins), [{}],
      [{ return ::mpc::moves(ConcreteOp::getLoopKind()); }]>,
    InterfaceMethod<[{Builds the op for tensors whose dimensions come in another order. An operand that has as many dimensions as `permutation` is replaced by one
      whose dimension i is dimension permutation[i] of the old one; the other operands stay. What an elementwise op or a norm over axes broadcasts is given
      with all dimensions, or with none. The results with all dimensions are permuted in the same way; a reduction without keepdims leaves the others in their new order.
      A convolution or pool changes its layout, and its weights stay. Returns null where the op has no such form.
      A dimension that occurs more than once in `permutation` is split: the operands have its parts as dimensions. This may be asked for dimensions that
      the op does not change and names in no attribute of one axis; the caller then sets the types of the results, but for those of reductions, which are inferred.}],
      "::mlir::Operation *", "permuted", (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<int64_t>":$permutation, "::mlir::ValueRange":$operands), [{}],
      [{ return ConcreteOp::getLoopKind() == ::mpc::LoopKind::Elementwise && !ConcreteOp::drawsNumbers() ? ::mpc::rebuildPermuted(builder, $_op, permutation, operands) : nullptr; }]>,
    InterfaceMethod<[{Returns which elements of `operand` along its dimension `dim` an element of `result` depends on; nullopt where these do not follow from one index of the
      result by a stride and an offset. By default they are those of followingDim.}],
      "::std::optional<::mpc::ReadRange>", "readRange", (ins "::mlir::OpOperand &":$operand, "::mlir::OpResult":$result, "int64_t":$dim), [{}], [{
        ::std::optional<int64_t> there = $_op.followingDim(operand, result, dim);
        return there ? ::std::optional(::mpc::ReadRange{*there}) : ::std::nullopt;
      }]>
  ];
}

def StorageViewTrait : NativeOpTrait<"StorageView"> { let cppNamespace = "::mpc"; }
def PermanentStorageTrait : NativeOpTrait<"PermanentStorage"> { let cppNamespace = "::mpc"; }

def ReductionOpInterface : OpInterface<"ReductionOpInterface"> {
  let cppNamespace = "::mpc";
  let description = "The op combines the elements of its one operand along some dimensions.";
  let methods = [
    StaticInterfaceMethod<"How two elements are combined.", "::mpc::Combiner", "getCombiner">,
    StaticInterfaceMethod<"Whether the combined elements are divided by their number in the end.", "bool", "isMean">,
    InterfaceMethod<"The dimensions that are reduced, ascending.", "::llvm::ArrayRef<int64_t>", "getAxes">,
    InterfaceMethod<"Whether they stay, with one index.", "bool", "getKeepdims">,
    InterfaceMethod<"Builds the same reduction of another tensor, over other dimensions.", "::mlir::Value", "over",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$axes, "bool":$keepdims),
      [{ return ConcreteOp::create(builder, $_op.getLoc(), x, axes, keepdims); }]>
  ];
}
#endif
