// RUN: mpc-opt %s --mpc-loss-scaling=keep-gradients | FileCheck %s

// The trace form works on the same state and also returns the unscaled, unclipped gradient.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK-COUNT-1: train.variable @"main/scale"
// CHECK-NOT: @"main.trace/scale"
// CHECK-LABEL: train.step @main()
// CHECK-SAME: -> (tensor<f32> {train.role = "loss"}) attributes
// CHECK-LABEL: train.step @main.trace()
// CHECK-SAME: -> (tensor<f32> {train.role = "loss"}, tensor<4xf32> {train.name = "grad/w", train.of = "w", train.role = "grad"}) attributes
// CHECK-SAME: trace
// CHECK: %[[LOSS:.*]] = graph.reduce_sum
// CHECK: %[[G:.*]] = graph.broadcast
// CHECK: %[[U:.*]] = graph.mul %[[G]]
// CHECK: train.yield %[[LOSS]], %[[U]] : tensor<f32>, tensor<4xf32>
train.step @main() -> (tensor<f32> {train.role = "loss"})
    attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<dynamic>, clip_norm = 1.0 : f64} {
  %w = train.read @w : tensor<4xf32>
  %l = graph.reduce_sum %w {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  %seed = train.seed : tensor<f32>
  %g = graph.broadcast %seed : tensor<f32> to tensor<4xf32>
  train.update @w, %g : tensor<4xf32>
  train.yield %l : tensor<f32>
}
