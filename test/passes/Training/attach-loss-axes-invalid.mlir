// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t,axis=0 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not mpc-opt %s --mpc-attach-loss=loss=nll:y:t,axis=-2 2>&1 | FileCheck %s --check-prefix=LAST
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:z:t,axis=3 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t,weight=1/2 2>&1 | FileCheck %s --check-prefix=WEIGHT
// RUN: not mpc-opt %s --mpc-attach-loss=loss=mse:z:small 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:z:t metric=accuracy:q:small" 2>&1 | FileCheck %s --check-prefix=NO-OUTPUT
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:z:t metric=accuracy:y:q" 2>&1 | FileCheck %s --check-prefix=NO-INPUT
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:z:t metric=accuracy:y:x" 2>&1 | FileCheck %s --check-prefix=FIT
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:z:t metric=accuracy:y:scores" 2>&1 | FileCheck %s --check-prefix=FLOAT
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:z:t metric=accuracy:y" 2>&1 | FileCheck %s --check-prefix=FORM

// BATCH: error: axis=0 is no dimension of classes of 'y' [4,3]
// BATCH: note: hint: leave it out: dimension 1 is the only one; dimension 0 counts the samples
// LAST: error: axis=-2 is no dimension of classes of 'y' [4,3]
// TOKENS: error: axis=3 is no dimension of classes of 'z' [4,5,3]
// TOKENS: note: hint: write a number from 1 to 2, or from the end, -1 to -2; dimension 0 counts the samples
// WEIGHT: error: weight has 2 numbers, but 'y' [4,3] has 3 classes along dimension 1
// WEIGHT: note: hint: give a weight for each class
// TARGET: error: input 'small' is tensor<4xi64>, but the target should be tensor<4x5x3xf32>
// TARGET: note: hint: name another input; a name that is not taken adds one
// NO-OUTPUT: error: metric 'accuracy:q:small': no output 'q'
// NO-OUTPUT: note: hint: name an output of the network and an input with its labels
// NO-INPUT: error: metric 'accuracy:y:q': no input 'q'
// FIT: error: metric 'accuracy:y:x': the labels tensor<4x5x3xf32> do not fit the logits tensor<4x3xf32>
// FIT: note: hint: labels have the shape of the logits without the dimension of the classes
// FLOAT: error: metric 'accuracy:y:scores': the labels 'scores' are tensor<4xf32>, but a class is an integer
// FLOAT: note: hint: name an input of integers; accuracy is for classifications only
// FORM: error: 'accuracy:y' is not a metric
// FORM: note: hint: write KIND or KIND:OUTPUT:TARGET, KIND = accuracy,
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x5x3xf32> {train.name = "x", train.batched}, %s: tensor<4xi64> {train.name = "small", train.batched},
                   %f: tensor<4xf32> {train.name = "scores", train.batched})
    -> (tensor<4x3xf32> {train.name = "y"}, tensor<4x5x3xf32> {train.name = "z"}) {
  %w = train.read @w : tensor<3xf32>
  %z = graph.mul %x, %w : (tensor<4x5x3xf32>, tensor<3xf32>) -> tensor<4x5x3xf32>
  %y = graph.reduce_mean %z {axes = array<i64: 1>, keepdims = false} : (tensor<4x5x3xf32>) -> tensor<4x3xf32>
  return %y, %z : tensor<4x3xf32>, tensor<4x5x3xf32>
}
