//===- KernelOps.td - the kernel dialect ---------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_OPS
#define MPC_KERNEL_OPS
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Graph/IR/GraphBase.td"
include "dialects/Kernel/IR/KernelAttrs.td"

def Kernel_DispatchOp : Op<Kernel_Dialect, "dispatch", [IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let summary = "graph ops that one launch computes";
  let description = [{
    ```mlir
    %y = kernel.dispatch contraction "conv1+relu" (%x, %w) : (tensor<...>, tensor<...>) -> tensor<...> {
    ^bb0(%a: tensor<...>, %b: tensor<...>):
      %0 = graph.conv ...
      %1 = graph.relu %0 ...
      kernel.yield %1 : tensor<...>
    }
    ```
    The word before the name is its form (`#kernel.form`): which code computes the body. The body of a `batch` holds dispatches, its *members*: the blocks of one launch are dealt out to
    them. The members are loops, none of them empty, and read only inputs of the batch, and the batch yields all their results in order.

    Later passes add how the dispatch is computed and launched (passes/Lowering) and where its values lie (passes/Memory):

    - `schedule`, of a contraction or an attention: how a GPU computes it;
    - `loops`: in which order loops go through its points. Those of a contraction are the loops behind a host library's call. Scatters and batches have none;
    - `scratch_bytes`: the scratch memory that the launch needs for itself;
    - `may_reuse`, with an entry for each result: the inputs whose buffer the result may take over, because no element of them is read after it was written. A contraction or an attention has none;
    - `in_place`, with an entry for each result: the input whose buffer the result does take over, or -1;
    - `args`: the offsets in the arena, in bytes, of the inputs and then of the results; `scratch_offset` is that of the scratch;
    - `arg_steps`, in the body of a graph.scan: by how many bytes each of these offsets moves from one iteration to the next; `args` are those of the first iteration;
    - `launches`: the kernels that compute it, in the order of their launches.

    Members of a batch have no places and no launches of their own; those of the batch are theirs.

    A dispatch is pure until it has `args`. From then on it reads its inputs in the arena and writes its results there, so it is neither dropped, merged nor moved.
    Neither are the members of a batch, since the batch yields the results of each.
  }];
  let arguments = (ins Kernel_FormAttr:$form, StrAttr:$name, Variadic<Graph_Tensor>:$inputs, OptionalAttr<Kernel_ContractionAttr>:$schedule,
                       OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr, "numbers of inputs, for each result">>:$may_reuse, OptionalAttr<DenseI64ArrayAttr>:$in_place,
                       OptionalAttr<DenseI64ArrayAttr>:$args, OptionalAttr<DenseI64ArrayAttr>:$arg_steps, OptionalAttr<I64Attr>:$scratch_bytes, OptionalAttr<I64Attr>:$scratch_offset,
                       OptionalAttr<TypedArrayAttrBase<Kernel_LaunchAttr, "launches">>:$launches, OptionalAttr<Kernel_LoopsAttr>:$loops);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<Form>($form) $name `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body";
  let extraClassDeclaration = [{
    /// Returns the values that the body yields, one for each result.
    ::mlir::OperandRange yielded() const { return (*this)->getRegion(0).front().getTerminator()->getOperands(); }
    /// The members of a batch; empty for other dispatches.
    std::vector<DispatchOp> members();
    /// The member that computes a result of the batch, and the number of the result there.
    std::pair<DispatchOp, unsigned> memberOf(unsigned result);
    /// Whether all results are empty; then nothing is launched.
    bool computesNothing();
    bool isBatch() { return getForm() == Form::Batch; }
    bool isContraction() { return getForm() == Form::Contraction; }
    bool isAttention() { return getForm() == Form::Attention; }
    /// Returns the product or convolution of a contraction; its verifier sees to it that there is one.
    ::mpc::ContractionOpInterface getContraction();
    /// Returns whether this dispatch is a member of a batch.
    bool isMember() const { return ::llvm::isa_and_nonnull<DispatchOp>((*this)->getParentOp()); }
    ::llvm::LogicalResult verifyContraction();
    ::llvm::LogicalResult verifyBatch();
    ::llvm::LogicalResult verifyReuse();
    ::llvm::LogicalResult verifyPlaces();
    ::llvm::LogicalResult verifyLaunches();
    /// Whether a result may take over the buffer of an input.
    bool mayReuse(unsigned result, unsigned input);
    /// The input whose buffer each result shares, or -1. For a member it follows from `in_place` of its batch.
    ::llvm::SmallVector<int64_t> inPlaceInputs();
    /// The same for one result.
    int64_t inPlaceInput(unsigned result) { return inPlaceInputs()[result]; }
  }];
  // The body is empty, and no pass has decided anything yet.
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "Form":$form, "::llvm::StringRef":$name, "::mlir::ValueRange":$inputs)>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Kernel_YieldOp : Op<Kernel_Dialect, "yield", [Pure, Terminator, ReturnLike, HasParent<"DispatchOp">]> {
  let summary = "results of a dispatch";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange());">];
}
#endif
