// RUN: mpc-opt %s --mpc-attach-loss=loss=mse:adaptive:t | FileCheck %s

// A layer norm treats each sample alone, also with a scale of the sample's own (adaptive norms), unless it normalises over the samples. So does a group norm.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: tensor<4x2x3xf32> {train.batched, train.name = "adaptive"
// CHECK-SAME: tensor<4x2x1xf32> {train.batched, train.name = "mean"
// CHECK-SAME: tensor<4x2x3xf32> {train.name = "over_samples"
// CHECK-SAME: tensor<4x2x3xf32> {train.batched, train.name = "groups"
// CHECK-SAME: tensor<4x2x3xf32> {train.batched, train.name = "slopes"
func.func @forward(%x: tensor<4x2x3xf32> {train.name = "x", train.batched}, %c: tensor<4x1x3xf32> {train.name = "c", train.batched})
    -> (tensor<4x2x3xf32> {train.name = "adaptive"}, tensor<4x2x1xf32> {train.name = "mean"}, tensor<4x2x3xf32> {train.name = "over_samples"},
        tensor<4x2x3xf32> {train.name = "groups"}, tensor<4x2x3xf32> {train.name = "slopes"}) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %w = train.read @w : tensor<3xf32>
  %pair = graph.constant dense<1.0> : tensor<2xf32>
  %h = graph.mul %x, %w : (tensor<4x2x3xf32>, tensor<3xf32>) -> tensor<4x2x3xf32>
  %0:3 = graph.layer_norm %h, %c, %zero {axes = array<i64: 2>, epsilon = 1.0e-5 : f64, kind = #graph<norm layer>} : (tensor<4x2x3xf32>, tensor<4x1x3xf32>, tensor<f32>) -> (tensor<4x2x3xf32>, tensor<4x2x1xf32>, tensor<4x2x1xf32>)
  %1:3 = graph.layer_norm %h, %zero, %zero {axes = array<i64: 0>, epsilon = 1.0e-5 : f64, kind = #graph<norm layer>} : (tensor<4x2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<4x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>)
  %2:3 = graph.group_norm %h, %pair, %pair {axis = 1 : i64, epsilon = 1.0e-5 : f64, groups = 1 : i64} : (tensor<4x2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2x3xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  %3 = graph.prelu %h, %w : (tensor<4x2x3xf32>, tensor<3xf32>) -> tensor<4x2x3xf32>
  return %0#0, %0#1, %1#0, %2#0, %3 : tensor<4x2x3xf32>, tensor<4x2x1xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>, tensor<4x2x3xf32>
}
