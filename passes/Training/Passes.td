//===- Passes.td - from a network to training entries ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING
#define MPC_PASSES_TRAINING
include "mlir/Pass/PassBase.td"

def AttachLossPass : Pass<"mpc-attach-loss", "::mlir::ModuleOp"> {
  let summary = "turns @forward into train.steps, @eval and @predict";
  let description = [{
    The pass attaches a loss to the imported network and splits it into its entries; `@forward` is gone afterwards.

    ```mlir
    func.func @forward(%x: tensor<8x4xf32> {train.name = "x", train.batched}) -> (tensor<8x3xf32> {train.name = "logits"})
    ```
    becomes with `loss=softmax_cross_entropy:logits:labels`
    ```mlir
    train.step @main(%x, %labels: tensor<8xi64> {train.name = "labels", train.batched, train.labels_below = 3})
        -> (tensor<f32> {train.role = "loss"})                    // forward in training form, loss in fp32
    func.func @eval(%x, %labels) -> (tensor<8xf32> {train.role = "sample_loss"}, tensor<8xf32> {train.role = "sample_weight"},
                                     tensor<8x3xf32> {train.role = "output", train.name = "logits"})
    func.func @predict(%x) -> (tensor<8x3xf32> {train.role = "output", train.name = "logits"})
    module attributes {train.metrics = [{kind = "accuracy", labels = "labels", logits = "logits", name = "accuracy"} ] }
    ```
    In evaluation form, `batch_norm` reads its running statistics, `dropout` is gone, and nothing is assigned but carried states (mpc-carry-state).
    The mean loss over a data set is the sum of sample losses divided by the sum of sample weights, exactly as
    for one large batch; a loss that does not split by samples is returned as one scalar of role "loss".

    The losses are `softmax_cross_entropy:LOGITS:LABELS`, `nll:LOG_PROBABILITIES:LABELS` (integer labels), `mse:PREDICTION:TARGET`, `l1:...`, `smooth_l1:...`,
    `bce_with_logits:...` (means over all elements by default), `ctc:LOGITS:TARGETS:INPUT_LENGTHS:TARGET_LENGTHS`, and `output:NAME` (a scalar output of the network). LABELS and TARGET name a data input; a new
    one is added when there is none of that name. Where no loss is given, it is the only scalar float output, or softmax cross entropy if that can be inferred.

    The pass does not differentiate, choose precisions or build optimizers (the step only carries their description).
  }];
  let options = [
    Option<"loss", "loss", "std::string", "", "the loss; see above">,
    ListOption<"steps", "step", "std::string",
               "one train.step each: NAME:loss=...:params=REGEX:optimizer=...:scaler=...:every=K; what is not given is taken from the other options">,
    Option<"parameters", "params", "std::string", "\".*\"", "regular expression: the parameters that the step trains">,
    Option<"optimizer", "optimizer", "std::string", "\"sgd,lr=0.01\"", "NAME,hyperparameter=value,...">,
    Option<"scaler", "scaler", "std::string", "\"none\"", "loss scaling: none | static,init_scale=1024 | dynamic,...">,
    ListOption<"groups", "param-group", "std::string", "REGEX:lr=FACTOR,weight_decay=VALUE, or kinds for the REGEX, as in @norms,@biases:wd=0; the first that matches a parameter counts">,
    Option<"clipNorm", "clip-norm", "double", "0.0", "clip the global norm of the gradients to this; 0: no">,
    Option<"clipValue", "clip-value", "double", "0.0", "clip every gradient element to +-this; 0: no">,
    Option<"accumulate", "accumulate", "int64_t", "1", "micro-batches per update">,
    ListOption<"outputs", "outputs", "std::string", "names of the outputs that predict returns; default all but the loss, numbers of a whole batch beside others, and those that states become">,
    ListOption<"metrics", "metric", "std::string", "KIND or KIND:OUTPUT:TARGET, KIND = accuracy, top5, f1:micro, ...; default inferred from the loss">,
  ];
  let statistics = [
    Statistic<"numSteps", "steps", "train.steps made">,
    Statistic<"numNorms", "batch-norms", "batch normalisations that evaluate on running statistics">,
    Statistic<"numDropouts", "dropouts", "dropouts removed from evaluation">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mpc::graph::GraphDialect", "::mpc::train::TrainDialect"];
}

def CarryStatePass : Pass<"mpc-carry-state", "::mlir::ModuleOp"> {
  let summary = "turns inputs of @forward into states that outputs become after each step";
  let description = [{
    The state of a recurrent network goes on from batch to batch: the input is zero at first, and the named output of a step is its value in the next one. No gradient
    passes from one batch to another, which is truncated back-propagation through time.

    ```mlir
    func.func @forward(%x: tensor<4x6xi64>, %h0: tensor<1x4x8xf32> {train.name = "h0"}) -> (tensor<4x6x9xf32>, tensor<1x4x8xf32> {train.name = "hn"})
    ```
    becomes with `carry=hn:h0`
    ```mlir
    train.variable @h0 buffer : tensor<1x4x8xf32> = #train.fill<0.0> {train.carried = "hn"}
    func.func @forward(%x: tensor<4x6xi64>) -> (tensor<4x6x9xf32>, tensor<1x4x8xf32> {train.name = "hn"}) {
      %h0 = train.read @h0
      ...
      train.assign @h0, %hn
    ```
    With `carry=hn:h0:reset` a data input `reset` of truth values, one for each sample, says which samples' states are zero before the step.

    All entries that mpc-attach-loss makes read the state and assign it. When an epoch, an evaluation or a prediction starts, the runtime makes it zero.
  }];
  let options = [
    ListOption<"carries", "carry", "std::string", "OUTPUT:INPUT or OUTPUT:INPUT:RESET; see above">,
  ];
  let statistics = [Statistic<"numStates", "states", "inputs that became states">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mpc::graph::GraphDialect", "::mpc::train::TrainDialect"];
}

def PredictEntryPass : Pass<"mpc-predict-entry", "::mlir::ModuleOp"> {
  let summary = "makes @forward of an imported network the entry @predict";
  let description = [{
    Inference needs no other entry: there is no loss, and no step. A network that is trained gets its entries by mpc-attach-loss.

    ```mlir
    func.func @forward(%x: tensor<8x4xf32> {train.name = "x", train.batched}) -> (tensor<8x3xf32> {train.name = "logits"})
    // becomes
    func.func @predict(%x: tensor<8x4xf32> {train.name = "x", train.batched}) -> (tensor<8x3xf32> {train.name = "logits"})
    ```
  }];
}
#endif
