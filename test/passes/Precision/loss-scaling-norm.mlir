// RUN: mpc-opt %s --mpc-loss-scaling="return-norm keep-gradients" | FileCheck %s

// The step and its trace form also return the norm of the unscaled gradients before both clippings; clip_norm looks at what clip_value left.
train.variable @v parameter : tensor<2x3xf32> = #train.fill<1.0>
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main(
// CHECK-SAME: -> (tensor<f32> {train.role = "loss"}, tensor<f32> {train.name = "grad_norm", train.role = "grad_norm"}) attributes
// CHECK: %[[INVERSE:.*]] = graph.cast %{{.*}} : tensor<f64> to tensor<f32>
// CHECK: %[[U:.*]] = graph.mul %[[GV:.*]], %[[INVERSE]] : (tensor<2x3xf32>, tensor<f32>)
// CHECK: %[[V:.*]] = graph.mul %[[GW:.*]], %[[INVERSE]] : (tensor<4xf32>, tensor<f32>)
// CHECK: %[[UU:.*]] = graph.mul %[[U]], %[[U]]
// CHECK: %[[SU:.*]] = graph.reduce_sum %[[UU]]
// CHECK: %[[VV:.*]] = graph.mul %[[V]], %[[V]]
// CHECK: %[[SV:.*]] = graph.reduce_sum %[[VV]]
// CHECK: %[[SUM:.*]] = graph.add %[[SU]], %[[SV]]
// CHECK: %[[NORM:.*]] = graph.sqrt %[[SUM]]
// CHECK: graph.clip %[[U]]
// CHECK: graph.clip %[[V]]
// CHECK: graph.sqrt
// CHECK: train.yield %{{.*}}, %[[NORM]] : tensor<f32>, tensor<f32>
// CHECK-LABEL: train.step @main.trace(
// CHECK-SAME: {train.name = "grad/w", train.of = "w", train.role = "grad"}, tensor<f32> {train.name = "grad_norm", train.role = "grad_norm"}) attributes
train.step @main(%gv: tensor<2x3xf32>, %gw: tensor<4xf32>) -> (tensor<f32> {train.role = "loss"})
    attributes {parameters = [@v, @w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<dynamic>, clip_norm = 1.0 : f64, clip_value = 2.0 : f64} {
  %w = train.read @w : tensor<4xf32>
  %l = graph.reduce_sum %w {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  %seed = train.seed : tensor<f32>
  train.update @v, %gv : tensor<2x3xf32>
  train.update @w, %gw : tensor<4xf32>
  train.yield %l : tensor<f32>
}
