// RUN: mpc-opt %s --split-input-file --verify-diagnostics --mpc-autodiff

train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
// expected-note @+1 {{hint: freeze the parameters before it (--freeze=REGEX, here 'w')}}
train.step @main(%x: tensor<4x2xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // expected-note @+1 {{it depends on parameter @w}}
  %w = train.read @w : tensor<2xf32>
  // expected-note @+1 {{on the path: 'graph.mul'}}
  %p = graph.mul %x, %w : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  // expected-error @+1 {{has no gradient: second derivatives of batch normalisation are not supported}}
  %dx, %ds, %db = graph.batch_norm_grad %p, %w, %w, %w, %p {epsilon = 1.0e-5 : f64, axis = 1 : i64}
    : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %l = graph.reduce_sum %dx {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x2xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
// expected-warning @+1 {{the loss of step @main does not depend on parameter @w: it keeps its initial value}}
train.step @main(%x: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  train.yield %x : tensor<f32>
}

// -----

train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
// expected-error @+2 {{the loss of step @main is not tensor<f32>}}
// expected-note @+1 {{hint: attach the loss with mpc-attach-loss}}
train.step @main(%x: tensor<f16>) -> tensor<f16> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  train.yield %x : tensor<f16>
}

// -----

// Every op without a gradient is reported, each with its path.
train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
// expected-note @+1 {{hint: freeze the parameters before it (--freeze=REGEX, here 'w')}}
train.step @main(%x: tensor<4x2xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // expected-note @+1 {{it depends on parameter @w}}
  %w = train.read @w : tensor<2xf32>
  // expected-note @+1 {{on the path: 'graph.mul'}}
  %p = graph.mul %x, %w : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  // expected-error @+3 {{has no gradient through its batch mean and variance}}
  // expected-note @+2 {{hint: use its first output only}}
  // expected-error @+1 {{is on the path from the loss to a parameter}}
  %y, %m, %v = graph.batch_norm %p, %w, %w {epsilon = 1.0e-5 : f64, axis = 1 : i64}
    : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  // expected-error @+3 {{has no gradient through its batch mean and variance}}
  // expected-note @+2 {{hint: use its first output only}}
  // expected-error @+1 {{is on the path from the loss to a parameter}}
  %y2, %m2, %v2 = graph.batch_norm %p, %w, %w {epsilon = 1.0e-3 : f64, axis = 1 : i64}
    : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %sum = graph.add %m, %m2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %l = graph.reduce_sum %sum {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

// 8-bit factors are copies, and the product of copies has no gradient of its own.
train.variable @w parameter : tensor<4x4xf32> = #train.fill<1.0>
// expected-note @+1 {{hint: freeze the parameters before it (--freeze=REGEX, here 'w')}}
train.step @main(%x: tensor<4x4xf8E4M3FN>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // expected-note @+1 {{it depends on parameter @w}}
  %w = train.read @w : tensor<4x4xf32>
  // expected-note @+1 {{on the path: 'graph.cast'}}
  %c = graph.cast %w : tensor<4x4xf32> to tensor<4x4xf8E4M3FN>
  // expected-error @+3 {{'graph.matmul' of 8-bit floats has no gradient of its own}}
  // expected-note @+2 {{hint: its factors are copies with scales; make the three products of the copies}}
  // expected-error @+1 {{is on the path from the loss to a parameter}}
  %y = graph.matmul %x, %c : (tensor<4x4xf8E4M3FN>, tensor<4x4xf8E4M3FN>) -> tensor<4x4xf32>
  %l = graph.reduce_sum %y {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

// This op does not state why it has no gradient.
train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
// expected-note @+1 {{hint: freeze the parameters before it (--freeze=REGEX, here 'w'), or replace the op by ones that have a gradient}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // expected-note @+1 {{it depends on parameter @w}}
  %w = train.read @w : tensor<2xf32>
  // expected-error-re @+1 {{'kernel.dispatch' ({{.*}}) has no gradient}}
  %y = kernel.dispatch pointwise "d" (%w) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %0 = graph.relu %a : tensor<2xf32>
    kernel.yield %0 : tensor<2xf32>
  }
  %l = graph.reduce_sum %y {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
// expected-error @+2 {{step @main has no loss}}
// expected-note @+1 {{hint: yield a scalar f32 first}}
train.step @main() attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  train.yield
}

// -----

// A vector is no loss either, though its elements are f32.
train.variable @w parameter : tensor<2xf32> = #train.fill<1.0>
// expected-error @+2 {{the loss of step @main is not tensor<f32>}}
// expected-note @+1 {{hint: attach the loss with mpc-attach-loss, which reduces and casts it}}
train.step @main(%x: tensor<1xf32>) -> tensor<1xf32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  train.yield %x : tensor<1xf32>
}

// -----

// The statistics of the other norms are like those of a batch norm.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-note @+1 {{hint: freeze the parameters before it (--freeze=REGEX, here 'w')}}
train.step @main(%x: tensor<4x3xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // expected-note @+1 {{it depends on parameter @w}}
  %w = train.read @w : tensor<3xf32>
  // expected-note @+1 {{on the path: 'graph.mul'}}
  %p = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  // expected-error @+3 {{'graph.layer_norm' of kind l2 has no gradient through its norm}}
  // expected-note @+2 {{hint: use its first output only on the path to the loss}}
  // expected-error @+1 {{is on the path from the loss to a parameter}}
  %y, %m, %i = graph.layer_norm %p, %one, %one {axes = array<i64: 1>, epsilon = 1.0e-12 : f64, kind = #graph<norm l2>}
    : (tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x3xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  %l = graph.reduce_sum %i {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x1xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-note @+1 {{hint: freeze the parameters before it (--freeze=REGEX, here 'w')}}
train.step @main(%x: tensor<4x3xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // expected-note @+1 {{it depends on parameter @w}}
  %w = train.read @w : tensor<3xf32>
  // expected-error @+3 {{'graph.group_norm' has no gradient through its statistics}}
  // expected-note @+2 {{hint: use its first output only on the path to the loss}}
  // expected-error @+1 {{is on the path from the loss to a parameter}}
  %y, %m, %i = graph.group_norm %x, %w, %w {axis = 1 : i64, epsilon = 1.0e-5 : f64, groups = 1 : i64}
    : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  %l = graph.reduce_sum %m {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x1xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}
