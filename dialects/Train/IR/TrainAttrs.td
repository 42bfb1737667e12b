//===- TrainAttrs.td - what a step does with its gradients --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TRAIN_ATTRS
#define MPC_TRAIN_ATTRS
include "dialects/Train/IR/TrainDialect.td"

// Such an attribute is a word and numbers by name, in any order: `#train.mnemonic<word, name = number, ...>`. A number that is its default is not printed.
// A user's text becomes one by `fromNumbers`, as MLIR's text does, so both are checked in one place (TrainAttrs.cpp).
class Train_NamedNumbers<string name, string mnem, string word> : Train_Attr<name, mnem> {
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  string fromNumbers = "/// Makes the attribute. Reports what is unknown, no number or out of range with a hint, and returns null then.\n"
                     "static " # name # "Attr fromNumbers(EmitError emitError, ::mlir::MLIRContext *context, ::llvm::StringRef " # word #
                     ", ::llvm::ArrayRef<NamedNumber> numbers);\n";
  let extraClassDeclaration = fromNumbers;
}

def Train_OptimizerAttr : Train_NamedNumbers<"Optimizer", "optimizer", "name"> {
  let summary = "an optimizer and its hyperparameters";
  let description = [{
    `#train.optimizer<sgd, lr = 0.1, momentum = 0.9>` holds the optimizer's row of the registry (dialects/Train/Optimizers) and a value for each
    hyperparameter of the row. The row decides which hyperparameters there are, their defaults and their ranges.
  }];
  let parameters = (ins AttrParameter<"const ::mpc::optimizers::Optimizer *", "row of the registry, never null">:$rule,
                        AttrParameter<"::mlir::DenseF64ArrayAttr", "a value for each hyperparameter of the row">:$values);
  let extraClassDeclaration = fromNumbers # [{
    ::mpc::optimizers::Hyperparameters getHyperparameters() const;
  }];
}

def Train_ScalerAttr : Train_NamedNumbers<"Scaler", "scaler", "kind"> {
  let summary = "a loss scaler and its options";
  let description = [{
    `#train.scaler<dynamic, init_scale = 1024, max_scale = 65536>`; the kinds are `none`, `static`, `dynamic` and `calibrate`.
    | option | default | kinds | meaning |
    |---|---|---|---|
    | `init_scale` | 65536, calibrate: 1024 | all but none | the first scale, or the only one |
    | `growth_factor`, `growth_interval` | 2, 2000 | dynamic | the scale grows by the factor after so many updates without overflow |
    | `backoff_factor` | 0.5 | dynamic, calibrate | the scale shrinks by the factor after an overflow |
    | `hysteresis` | 1 | dynamic | overflows until the scale shrinks |
    | `min_scale`, `max_scale` | no bound | dynamic, calibrate | bounds of the scale |
    | `steps` | 100 | calibrate | updates that are watched |
    | `headroom` | 4 | calibrate | safety factor over the largest calibrated gradient |
  }];
  let parameters = (ins AttrParameter<"::mpc::train::Scaler", "the kind and its options", "const ::mpc::train::Scaler &">:$options);
}

def Train_GroupAttr : Train_NamedNumbers<"Group", "group", "match"> {
  let summary = "parameters with a learning rate or a weight decay of their own";
  let description = [{
    `#train.group<"bias$", lr = 2, weight_decay = 0>` multiplies the learning rate of the parameters whose names match the regular expression by `lr` (default 1),
    and replaces their weight decay.
  }];
  let parameters = (ins StringRefParameter<"a POSIX extended regular expression">:$match, AttrParameter<"::mlir::FloatAttr", "factor of the learning rate">:$lr,
                        OptionalParameter<"::mlir::FloatAttr", "weight decay in place of the optimizer's">:$weightDecay);
}
#endif
