// RUN: mpc-opt %s --mpc-attach-loss=step=first:loss=mse:y:t,second:loss=mse:z:t --split-input-file --verify-diagnostics -o /dev/null
// RUN: mpc-opt %s --mpc-attach-loss=step=first:loss=mse:y:t,second:loss=mse:z:t --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONCE

// The norm that keeps running statistics does not influence what is trained.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
train.variable @running.mean_0 buffer : tensor<3xf32> = #train.fill<0.0> {train.name = "running.mean"}
train.variable @running.variance buffer : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}, tensor<4x3xf32> {train.name = "z"}, tensor<4x3xf32> {train.name = "u"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %z = graph.exp %y : tensor<4x3xf32>
  %u, %m, %v = graph.batch_norm %x, %w, %w {epsilon = 1.0e-5 : f64, axis = 1 : i64, train.running_mean = @running.mean_0, train.running_variance = @running.variance} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  // expected-warning@+1 {{no step's loss depends on what updates @running.mean: it keeps its initial value}}
  train.assign @running.mean_0, %m : tensor<3xf32>
  // expected-warning@+1 {{no step's loss depends on what updates @running.variance: it keeps its initial value}}
  train.assign @running.variance, %v : tensor<3xf32>
  return %y, %z, %u : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Evaluation needs both statistics.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
train.variable @running.mean buffer : tensor<3xf32> = #train.fill<0.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}, tensor<4x3xf32> {train.name = "z"}) {
  %w = train.read @w : tensor<3xf32>
  // ONCE: warning: 'graph.batch_norm' op has no running statistics
  // ONCE-NOT: warning: 'graph.batch_norm' op has no running statistics
  // expected-warning@+2 {{'graph.batch_norm' op has no running statistics: evaluation normalises by the batch}}
  // expected-note@+1 {{hint: give the norm a running mean and variance that are initializers}}
  %y, %m, %v = graph.batch_norm %x, %w, %w {epsilon = 1.0e-5 : f64, axis = 1 : i64, train.running_mean = @running.mean} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  train.assign @running.mean, %m : tensor<3xf32>
  %z = graph.exp %y : tensor<4x3xf32>
  return %y, %z : tensor<4x3xf32>, tensor<4x3xf32>
}
