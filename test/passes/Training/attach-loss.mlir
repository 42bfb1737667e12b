// RUN: mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:logits:labels | FileCheck %s

// CHECK: module attributes {train.metrics = [{axis = 1 : i64, kind = "accuracy", labels = "labels", logits = "logits", name = "accuracy"}]}
module {
  train.variable @w parameter : tensor<4x3xf32> = dense<1.0> : tensor<4x3xf32>
  train.variable @b parameter : tensor<3xf32> = #train.fill<0.0>

  // CHECK-NOT: @forward
  // CHECK-LABEL: train.step @main(
  // CHECK-SAME: %[[X:.*]]: tensor<8x4xf32> {train.batched, train.name = "x"}
  // CHECK-SAME: %[[L:.*]]: tensor<8xi64> {train.batched, train.labels_below = 3 : i64, train.labels_ignore = -100 : i64, train.labels_of = {axis = 1 : i64, name = "logits", shape = array<i64: 8, 3>}, train.name = "labels"}
  // CHECK-SAME: -> (tensor<f32> {train.name = "loss", train.role = "loss"})
  // CHECK-SAME: accumulate = 1
  // CHECK-SAME: optimizer = #train.optimizer<sgd>, parameters = [@w, @b], scaler = #train.scaler<none>
  // CHECK: %[[Z:.*]] = graph.add
  // CHECK: %[[LOSS:.*]] = graph.softmax_cross_entropy %[[Z]], %[[L]]
  // CHECK-SAME: ignore_index = -100 : i64, reduction = #graph<reduction mean>
  // CHECK: train.yield %[[LOSS]]

  // CHECK-LABEL: func.func @eval(
  // CHECK-SAME: -> (tensor<8xf32> {train.batched, train.name = "sample_loss", train.role = "sample_loss"}
  // CHECK-SAME:     tensor<8xf32> {train.batched, train.name = "sample_weight", train.role = "sample_weight"}
  // CHECK-SAME:     tensor<8x3xf32> {train.batched, train.name = "logits", train.role = "output"})
  // CHECK: %[[EZ:.*]] = graph.add
  // CHECK: %[[EACH:.*]] = graph.softmax_cross_entropy %[[EZ]]
  // CHECK-SAME: reduction = #graph<reduction none>
  // A label counts as 1, and the ignored one as 0.
  // CHECK: %[[COUNTS:.*]] = graph.compare ne
  // CHECK: %[[WEIGHT:.*]] = graph.cast %[[COUNTS]] : tensor<8xi1> to tensor<8xf32>
  // CHECK: return %[[EACH]], %[[WEIGHT]], %[[EZ]]

  // CHECK-LABEL: func.func @predict(
  // CHECK-SAME: %{{[^:]*}}: tensor<8x4xf32> {train.batched, train.name = "x"}) -> (tensor<8x3xf32> {train.batched, train.name = "logits", train.role = "output"})
  // CHECK-NOT: softmax_cross_entropy
  func.func @forward(%x: tensor<8x4xf32> {train.name = "x", train.batched}) -> (tensor<8x3xf32> {train.name = "logits"}) {
    %w = train.read @w : tensor<4x3xf32>
    %b = train.read @b : tensor<3xf32>
    %p = graph.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    %z = graph.add %p, %b : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
    return %z : tensor<8x3xf32>
  }
}
