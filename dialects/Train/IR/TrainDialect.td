//===- TrainDialect.td - the train dialect -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_DIALECT
#define MPC_TRAIN_DIALECT
include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::mpc::train";
  let summary = "What a training step owns: variables, loss, optimizer, scaler";
  let description = [{
    A program is a module of `train.variable`s and entries: `train.step`s, which train, and `func.func`s, which
    evaluate and predict. Entries read variables and assign them. State is functional within an entry: a read sees the value from
    before the entry started, whatever is assigned, and assignments take effect together at its end.

    Arguments and results of entries carry dictionaries. `train.name` is the user's name. On arguments, `train.batched` says that the leading dimension
    is the batch, `train.labels_below` and `train.labels_ignore` (i64) say that values are in [0, below), or ignored by the loss, `train.indices_below`
    (i64) says that values are in [-below, below), and `train.parts` says the same for parts of a sample, in dictionaries with `from` and `to`.
    `train.labels_of` ({name, shape, axis[, assumed]}) describes the output whose classes the labels are. `train.permutation`, which a target sets, says in
    which order the dimensions are stored.

    On results, `train.role` is "loss", "grad_norm" (the norm of a step's gradients), "sample_loss", "sample_weight", "output" or "grad", the latter with `train.of`, the parameter's name. Results of
    functions also say how they depend on the batch's samples: with `train.batched` the leading dimension counts the samples, and each sample alone
    decides its own part, or the file calls that dimension the batch; with `train.fixed` the result does not depend on the samples; without either, samples are mixed or lie along another dimension.

    A `graph.batch_norm` names the variables of its running statistics in `train.running_mean` and `train.running_variance`, which its evaluation form reads.
    They also keep two norms of one input apart whose running statistics differ: such norms compute the same in training and merge without the attributes.

    Variables have `train.name`, too, where their symbol is not the initializer's name; `train.node` and `train.input` say which input of which node a
    variable serves where it does not stand for an initializer of its own (Names.h). `train.average` marks the moving average of a parameter and holds its decay (Averages.h). Of the module, `train.metrics` is an array of {name, kind, logits, labels, axis[, ignore][, detections, boxes, nms, max_detections, score_threshold[, iou]]},
    one for each metric that `eval` measures, and `train.assumed` is an array of texts that say what was chosen where the user said nothing.

    State that passes make is named after its owner: `@"<parameter>/<slot>"`, `@"<step>/lr"`, `@"<step>/scale"`.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Train_RoleEnum : I32EnumAttr<"Role", "what a variable is to training", [
  I32EnumAttrCase<"parameter", 0>, I32EnumAttrCase<"buffer", 1>, I32EnumAttrCase<"slot", 2>, I32EnumAttrCase<"copy", 3>,
  I32EnumAttrCase<"accumulator", 4>, I32EnumAttrCase<"scaler", 5>, I32EnumAttrCase<"counter", 6>, I32EnumAttrCase<"rng", 7>,
  I32EnumAttrCase<"hyper", 8>]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_RoleAttr : EnumAttr<Train_Dialect, Train_RoleEnum, "role">;

//===-- How a variable starts: an ElementsAttr or one of these -----------------===//

class Train_Attr<string name, string mnem> : AttrDef<Train_Dialect, name> { let mnemonic = mnem; }
def Train_FillAttr : Train_Attr<"Fill", "fill"> {
  let summary = "every element is `value`";
  let parameters = (ins "::mlir::FloatAttr":$value);
  let builders = [AttrBuilder<(ins "double":$value), "return $_get($_ctxt, ::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), value));">];
  let assemblyFormat = "`<` $value `>`";
}
def Train_NormalAttr : Train_Attr<"Normal", "normal"> {
  let summary = "drawn from N(mean, stddev^2)";
  let parameters = (ins "::mlir::FloatAttr":$mean, "::mlir::FloatAttr":$stddev);
  let builders = [AttrBuilder<(ins "double":$mean, "double":$stddev), "return $_get($_ctxt, ::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), mean), ::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), stddev));">];
  let assemblyFormat = "`<` $mean `,` $stddev `>`";
}
def Train_UniformAttr : Train_Attr<"Uniform", "uniform"> {
  let summary = "drawn uniformly from [low, high)";
  let parameters = (ins "::mlir::FloatAttr":$low, "::mlir::FloatAttr":$high);
  let builders = [AttrBuilder<(ins "double":$low, "double":$high), "return $_get($_ctxt, ::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), low), ::mlir::FloatAttr::get(::mlir::Float64Type::get($_ctxt), high));">];
  let assemblyFormat = "`<` $low `,` $high `>`";
}
def Train_CopyOfAttr : Train_Attr<"CopyOf", "copy_of"> {
  let summary = "rounded from another variable, whenever that one is loaded";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$source);
  let assemblyFormat = "`<` $source `>`";
}
#endif
