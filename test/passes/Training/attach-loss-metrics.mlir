// RUN: mpc-opt %s --mpc-attach-loss="loss=output:total" | FileCheck %s
// RUN: mpc-opt %s --mpc-attach-loss="loss=output:total metric=accuracy:y:t" | FileCheck %s

// Float labels that the network's own loss makes integers of are the classes which that loss takes.
// CHECK: train.metrics = [{axis = 1 : i64, kind = "accuracy", labels = "t", logits = "y", name = "accuracy"}]
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}, %t: tensor<4xf32> {train.name = "t", train.batched})
    -> (tensor<4x3xf32> {train.name = "y"}, tensor<f32> {train.name = "total"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %i = graph.cast %t : tensor<4xf32> to tensor<4xi64>
  %l = graph.softmax_cross_entropy %y, %i {reduction = #graph<reduction mean>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
  return %y, %l : tensor<4x3xf32>, tensor<f32>
}
