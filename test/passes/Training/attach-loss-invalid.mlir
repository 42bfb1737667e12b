// RUN: not mpc-opt %s --mpc-attach-loss 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mpc-opt %s --mpc-attach-loss=loss=hinge:y:t 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not mpc-opt %s --mpc-attach-loss=loss=mse:yy:t 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not mpc-opt %s --mpc-attach-loss=loss=mse:y 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mpc-opt %s --mpc-attach-loss=loss=mse:y:small 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:x 2>&1 | FileCheck %s --check-prefix=LABELS
// RUN: not mpc-opt %s --mpc-attach-loss=loss=output:y 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t params=nothing" 2>&1 | FileCheck %s --check-prefix=PARAMS
// RUN: sed 's/@w parameter/@w buffer/' %s | not mpc-opt --mpc-attach-loss="loss=mse:y:t" 2>&1 | FileCheck %s --check-prefix=BARE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t optimizer=sgd,lr" 2>&1 | FileCheck %s --check-prefix=PAIR
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group=w:speed=2" 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t outputs=q" 2>&1 | FileCheck %s --check-prefix=PREDICT
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:yy:t outputs=p,q param-group=nothing:lr=2" 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t metric=f7:y:x" 2>&1 | FileCheck %s --check-prefix=METRIC
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t step=a,a" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t accumulate=0" 2>&1 | FileCheck %s --check-prefix=ACCUMULATE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t clip-norm=-1" 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t step=eval" 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t step=w" 2>&1 | FileCheck %s --check-prefix=PARAMETER
// RUN: sed 's/@w /@"main\/lr" /; s/@w :/@"main\/lr" :/' %s | not mpc-opt --mpc-attach-loss="loss=mse:y:t" 2>&1 | FileCheck %s --check-prefix=STATE

// NONE: error: the network has no scalar float output that could be the loss, and none can be inferred: output 'y' is made by Relu, so it is no score of a class
// NONE: note: hint: say what is trained: --loss=softmax_cross_entropy:LOGITS:LABELS, nll:LOG_PROBABILITIES:LABELS,
// NONE-SAME: mse:PREDICTION:TARGET, l1:PREDICTION:TARGET, smooth_l1:PREDICTION:TARGET, bce_with_logits:LOGITS:TARGET, ctc:LOGITS:TARGETS:INPUT_LENGTHS:TARGET_LENGTHS, or output:NAME (`mpc compile --help` gives their options); the outputs are 'y'
// FORM: error: there is no loss 'hinge'
// FORM: note: hint: the losses are softmax_cross_entropy:LOGITS:LABELS, nll:{{.*}}, mse:{{.*}}, or output:NAME
// OUTPUT: error: the network has no output 'yy'
// OUTPUT: note: hint: its outputs are 'y'
// TARGET: error: loss 'mse:y' names no target
// TARGET: note: hint: write mse:PREDICTION:TARGET
// SHAPE: error: input 'small' is tensor<4xf32>, but the target should be tensor<4x3xf32>
// LABELS: error: input 'x' is tensor<4x3xf32>, but the labels of 'y' [4,3] with its classes along dimension 1 should be tensor<4xi64>
// LABELS: note: hint: labels are integers; for float targets use mse or bce_with_logits
// SEVERAL: error: parameter group 'nothing' matches no parameter
// SEVERAL: note: hint: `mpc check` lists what is trained
// SEVERAL: error: the network has no output 'yy'
// SEVERAL: error: predict has no output 'p'
// SEVERAL: error: predict has no output 'q'
// SCALAR: error: output 'y' is not a scalar float
// SCALAR: note: hint: a loss is one number: take its mean
// PARAMS: error: no parameter matches 'nothing': there is nothing to train
// PARAMS: note: hint: `mpc check` lists what is trained
// BARE: error: the network has no parameter: there is nothing to train
// BARE: note: hint: `mpc check` lists its tensors; --trainable=REGEX trains initializers wherever they stand
// PAIR: error: 'lr' is not key=value
// GROUP: error: 'speed' of a parameter group is not a known number
// PREDICT: error: predict has no output 'q'
// PREDICT: note: hint: it can return y
// METRIC: error: 'f7:y:x' is not a metric
// METRIC: note: hint: did you mean 'f1'? write KIND or KIND:{{OUTPUT}}:TARGET, KIND = accuracy, top5 (any number), confusion,
// TWICE: error: two steps are named 'a'
// TWICE: note: hint: give each step its own name
// ACCUMULATE: error: cannot accumulate 0 micro-batches
// ACCUMULATE: note: hint: 1 or more
// CLIP: error: --clip-norm takes a positive number
// ENTRY: error: a step cannot be called 'eval'
// PARAMETER: error: a step cannot be called 'w'
// STATE: error: 'main/lr' is a name for state of 'main' that the compiler makes
// STATE: note: hint: rename the initializer
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}, %s: tensor<4xf32> {train.name = "small", train.batched})
    -> (tensor<4x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %p = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %y = graph.relu %p : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}
