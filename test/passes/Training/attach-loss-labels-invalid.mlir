// RUN: mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t --split-input-file --verify-diagnostics

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{output 'y' is not a float tensor}}
// expected-note@+1 {{hint: a loss compares float predictions with a target}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4xi64> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %p = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %y = graph.argmax %p {axis = 1 : i64, keepdims = false} : (tensor<4x3xf32>) -> tensor<4xi64>
  return %y : tensor<4xi64>
}

// -----

train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// expected-error@+2 {{scores of classes are [N, C, ...], but the prediction 'y' [4] is not}}
// expected-note@+1 {{hint: name the output with the scores, or use mse, l1, smooth_l1 or bce_with_logits}}
func.func @forward(%x: tensor<4xf32> {train.name = "x", train.batched}) -> (tensor<4xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<4xf32>
  %y = graph.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// There are as many tokens as classes, so that the labels fit both.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{the labels 't' [4,3] fit the classes of 'y' [4,3,3] along dimension 1 and along dimension 2}}
// expected-note@+1 {{hint: say which: --loss=softmax_cross_entropy:y:t,axis=1 or --loss=softmax_cross_entropy:y:t,axis=2}}
func.func @forward(%x: tensor<4x3x3xf32> {train.name = "x", train.batched}, %t: tensor<4x3xi64> {train.name = "t", train.batched}) -> (tensor<4x3x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3x3xf32>, tensor<3xf32>) -> tensor<4x3x3xf32>
  return %y : tensor<4x3x3xf32>
}

// -----

// The labels would fit another dimension, but the pass does not guess.
train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
// expected-error@+2 {{input 't' is tensor<4x3x2xi64>, but the labels of 'y' [4,3,5,2] with its classes along dimension 1 should be tensor<4x5x2xi64>}}
// expected-note@+1 {{hint: the labels fit --loss=softmax_cross_entropy:y:t,axis=2}}
func.func @forward(%x: tensor<4x3x5x2xf32> {train.name = "x", train.batched}, %t: tensor<4x3x2xi64> {train.name = "t", train.batched}) -> (tensor<4x3x5x2xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<2xf32>
  %y = graph.mul %x, %w : (tensor<4x3x5x2xf32>, tensor<2xf32>) -> tensor<4x3x5x2xf32>
  return %y : tensor<4x3x5x2xf32>
}

// -----

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{input 't' is tensor<3xi64>, but the labels of 'y' [4,3] with its classes along dimension 1 should be tensor<4xi64>}}
// expected-note@+1 {{hint: name another input; a name that is not taken adds one}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}, %t: tensor<3xi64> {train.name = "t"}) -> (tensor<4x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{labels 't' are an output of the network}}
// expected-note@+1 {{hint: name an input, or a new one for the labels: labels}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}, tensor<4xi64> {train.name = "t"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %t = graph.argmax %y {axis = 1 : i64, keepdims = false} : (tensor<4x3xf32>) -> tensor<4xi64>
  return %y, %t : tensor<4x3xf32>, tensor<4xi64>
}
