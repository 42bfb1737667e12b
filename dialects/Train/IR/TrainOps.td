//===- TrainOps.td - ops of the train dialect ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_OPS
#define MPC_TRAIN_OPS
include "dialects/Train/IR/TrainAttrs.td"
include "dialects/Graph/IR/GraphBase.td"
include "dialects/Interfaces/Differentiable.td"
include "dialects/Interfaces/Indexing.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Train_Op<string mnemonic, list<Trait> traits = []> : Op<Train_Dialect, mnemonic, traits>;

def Train_VariableOp : Train_Op<"variable", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a named tensor that lives from step to step";
  let description = [{
    ```mlir
    train.variable @"conv1.weight" parameter : tensor<6x1x5x5xf32> = dense_resource<conv1.weight>
    train.variable @"conv1.weight/momentum" slot : tensor<6x1x5x5xf32> = #train.fill<0.0> {of = @"conv1.weight", step = @main}
    ```
    `train.permutation`, where a target has set it, says in which order the dimensions are stored (`getLogicalType`).
    `of` names the parameter that a slot, copy or accumulator belongs to, and `step` names the train.step that owns it.
    The source of `#train.copy_of` is a variable of the same shape that is no copy itself.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Train_RoleAttr:$role, TypeAttrOf<Graph_Tensor>:$type, AnyAttr:$init,
                       OptionalAttr<FlatSymbolRefAttr>:$of, OptionalAttr<FlatSymbolRefAttr>:$step);
  let assemblyFormat = "$sym_name `` $role `:` $type `=` $init attr-dict";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// Returns the type before `train.permutation`, which is the type of `init`, of checkpoints and of the ONNX model.
    ::mlir::RankedTensorType getLogicalType();
  }];
  let hasVerifier = 1;
}

def Train_ReadOp : Train_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, Pure, ZeroGradientTrait, PermanentStorageTrait]> {
  let summary = "reads the value that a variable had before this entry started (hence pure)";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Graph_Tensor:$value);
  let assemblyFormat = "$variable attr-dict `:` type($value)";
}

def Train_AssignOp : Train_Op<"assign", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "gives a variable its value for the next entry; at most once per entry and variable";
  let arguments = (ins FlatSymbolRefAttr:$variable, Graph_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

def Train_StepOp : Train_Op<"step", [FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope]> {
  let summary = "one optimizer step: forward, loss, backward, update";
  let description = [{
    A step owns a loss (its first result, a scalar), the parameters that it trains, an optimizer and
    a loss scaler. A program may have several steps (a GAN has two); they run in order on each batch.

    ```mlir
    train.step @main(...) -> tensor<f32> attributes {accumulate = 1 : i64, groups = [#train.group<"bias$", weight_decay = 0>],
        optimizer = #train.optimizer<sgd, lr = 0.1, momentum = 0.9>, parameters = [@w, @bias], scaler = #train.scaler<dynamic>} { ... }
    ```
    The first of the `groups` whose pattern matches a parameter's name applies to it.
    `clip_norm` and `clip_value` act on unscaled gradients; `accumulate` is the number of scaled gradients that are summed per update.

    `trace` marks @"<name>.trace": the same step as @<name> on the same state, which also returns the unscaled fp32 gradients (role "grad").
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs, TypedArrayAttrBase<FlatSymbolRefAttr, "parameters">:$parameters,
                       Train_OptimizerAttr:$optimizer, Train_ScalerAttr:$scaler,
                       OptionalAttr<TypedArrayAttrBase<Train_GroupAttr, "parameter groups">>:$groups,
                       OptionalAttr<F64Attr>:$clip_norm, OptionalAttr<F64Attr>:$clip_value,
                       DefaultValuedAttr<I64Attr, "1">:$accumulate, UnitAttr:$trace);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Train_YieldOp : Train_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"StepOp">]> {
  let summary = "results of a step: the loss first";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::ValueRange());">];
  let hasVerifier = 1;
}

def Train_SeedOp : Train_Op<"seed", [Pure, ZeroGradientTrait]> {
  let summary = "the cotangent of the loss: 1, times the loss scale once the scaler is built";
  let results = (outs Graph_F32:$value);
  let assemblyFormat = "attr-dict `:` type($value)";
}

def Train_Flag : ConfinedType<Graph_Bool, [CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0">], "a flag: a scalar i1">;

def Train_UpdateOp : Train_Op<"update", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "lets the step's optimizer update a parameter with its gradient";
  let description = [{
    `gradient` has the parameter's type, or is f32 (once unscaled). With `skip` (a scalar)
    true, the parameter and its slots stay as they are. The optimizer passes expand this op.
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, Graph_Float:$gradient, Optional<Train_Flag>:$skip);
  let assemblyFormat = "$parameter `,` $gradient (`unless` $skip^)? attr-dict `:` type($gradient) (`,` type($skip)^)?";
}

def Train_AllReduceOp : Train_Op<"all_reduce", [Pure, SameOperandsAndResultType, ZeroGradientTrait, StorageViewTrait]> {
  let summary = "sum of a gradient over the data-parallel ranks; the identity on one rank";
  let description = [{
    The sum takes the place of the operand. The memory plan gives the op a position among the launches and notes the place as `kernel.offset`; a launch that needs the operand
    afterwards gets a copy.
  }];
  let arguments = (ins Graph_Float:$x);
  let results = (outs Graph_Float:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
#endif
