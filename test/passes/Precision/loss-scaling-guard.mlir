// RUN: mpc-opt %s --mpc-loss-scaling=guard-loss=true --split-input-file | FileCheck %s

// Without a scale the loss is tested, the guard is a variable, and the update and the running statistics are skipped.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @mean buffer : tensor<4xf32> = #train.fill<0.0>
// CHECK: train.variable @"main/nan_guard" hyper : tensor<f32> = #train.fill<1.000000e+00 : f64> {step = @main}
// CHECK-LABEL: train.step @main
train.step @main(%x: tensor<4xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // CHECK: %[[LOSS:.*]] = graph.reduce_sum
  // CHECK: %[[BAD:.*]] = graph.is_nonfinite %[[LOSS]]
  // CHECK: %[[GUARD:.*]] = train.read @"main/nan_guard"
  // CHECK: %[[ON:.*]] = graph.compare ne %[[GUARD]]
  // CHECK: %[[SKIP:.*]] = graph.and %[[BAD]], %[[ON]]
  // CHECK: train.update @w, %{{.*}} unless %[[SKIP]]
  // CHECK: %[[OLD:.*]] = train.read @mean
  // CHECK: %[[NEXT:.*]] = graph.select %[[SKIP]], %[[OLD]], %arg0
  // CHECK: train.assign @mean, %[[NEXT]]
  %loss = graph.reduce_sum %x {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  %seed = train.seed : tensor<f32>
  %g = graph.broadcast %seed : tensor<f32> to tensor<4xf32>
  train.update @w, %g : tensor<4xf32>
  train.assign @mean, %x : tensor<4xf32>
  train.yield %loss : tensor<f32>
}

// -----
// With a scale, a non-finite loss or gradient skips the step, but only the gradients change the scale.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
train.step @main(%x: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<dynamic>} {
  // CHECK: %[[BADLOSS:.*]] = graph.and
  // CHECK: %[[OVERFLOW:.*]] = graph.is_nonfinite
  // CHECK: %[[ANY:.*]] = graph.reduce_any %[[OVERFLOW]]
  // CHECK: %[[SKIP:.*]] = graph.or %[[ANY]], %[[BADLOSS]]
  // CHECK: train.update @w, %{{.*}} unless %[[SKIP]]
  // CHECK: graph.cast %[[ANY]] : tensor<i1> to tensor<i64>
  %seed = train.seed : tensor<f32>
  %g = graph.broadcast %seed : tensor<f32> to tensor<4xf32>
  train.update @w, %g : tensor<4xf32>
  train.yield %x : tensor<f32>
}

// -----
// Without a scale, a batch that has no finite loss is counted and not added, and it skips the update of both batches.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK: train.variable @"main/bad_losses" counter : tensor<i64> = #train.fill<0.000000e+00 : f64>
// CHECK-LABEL: train.step @main
train.step @main(%x: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>, accumulate = 2 : i64} {
  // CHECK: %[[BAD:.*]] = graph.and
  // CHECK: %[[DUE:.*]] = graph.compare ge
  // CHECK: %[[BEFORE:.*]] = train.read @"w/accumulator"
  // CHECK: %[[SUM:.*]] = graph.add %[[BEFORE]]
  // CHECK: graph.select %[[BAD]], %[[BEFORE]], %[[SUM]]
  // CHECK: %[[SEEN:.*]] = train.read @"main/bad_losses"
  // CHECK: %[[ONE:.*]] = graph.cast %[[BAD]] : tensor<i1> to tensor<i64>
  // CHECK: %[[COUNT:.*]] = graph.add %[[SEEN]], %[[ONE]]
  // CHECK: graph.select %[[DUE]], %{{.*}}, %[[COUNT]]
  // CHECK: %[[LOST:.*]] = graph.compare gt %[[COUNT]]
  // CHECK: %[[EARLY:.*]] = graph.not %[[DUE]]
  // CHECK: %[[SKIP:.*]] = graph.or %[[EARLY]], %[[LOST]]
  // CHECK: train.update @w, %{{.*}} unless %[[SKIP]]
  %seed = train.seed : tensor<f32>
  %g = graph.broadcast %seed : tensor<f32> to tensor<4xf32>
  train.update @w, %g : tensor<4xf32>
  train.yield %x : tensor<f32>
}
