// RUN: mpc-opt %s --split-input-file --mpc-attach-loss="loss=softmax_cross_entropy:out:labels metric=accuracy" | FileCheck %s

// A loss takes the input of a softmax over the classes, and keeps one over another dimension: that is another function.
// CHECK-LABEL: train.step @main(
// CHECK: %[[S:.*]] = graph.log_softmax %{{.*}} {axis = 0 : i64}
// CHECK: graph.softmax_cross_entropy %[[S]],
// CHECK-LABEL: func.func @eval(
// CHECK: %[[S:.*]] = graph.log_softmax
// The softmax over the batch mixes samples, so that the loss has no parts.
// CHECK: return %{{.*}}, %[[S]] : tensor<f32>, tensor<8x3xf32>
train.variable @w parameter : tensor<4x3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<8x4xf32> {train.name = "x", train.batched}) -> (tensor<8x3xf32> {train.name = "out"}) {
  %w = train.read @w : tensor<4x3xf32>
  %z = graph.matmul %x, %w : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %s = graph.log_softmax %z {axis = 0 : i64} : tensor<8x3xf32>
  return %s : tensor<8x3xf32>
}

// -----

// Where the network has the labels, they say which dimension has the classes: 1 here, so that the softmax over dimension 2 stays.
// CHECK-LABEL: train.step @main(
// CHECK: %[[S:.*]] = graph.softmax %{{.*}} {axis = 2 : i64}
// CHECK: graph.softmax_cross_entropy %[[S]],
train.variable @w parameter : tensor<4x5xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<8x3x4xf32> {train.name = "x", train.batched}, %labels: tensor<8x5xi64> {train.name = "labels", train.batched}) -> (tensor<8x3x5xf32> {train.name = "out"}) {
  %w = train.read @w : tensor<4x5xf32>
  %z = graph.matmul %x, %w : (tensor<8x3x4xf32>, tensor<4x5xf32>) -> tensor<8x3x5xf32>
  %s = graph.softmax %z {axis = 2 : i64} : tensor<8x3x5xf32>
  return %s : tensor<8x3x5xf32>
}

// -----

// CHECK-LABEL: train.step @main(
// CHECK: %[[Z:.*]] = graph.matmul
// CHECK-NOT: graph.softmax %
// CHECK: graph.softmax_cross_entropy %[[Z]],
train.variable @w parameter : tensor<4x5xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<8x3x4xf32> {train.name = "x", train.batched}, %labels: tensor<8x5xi64> {train.name = "labels", train.batched}) -> (tensor<8x3x5xf32> {train.name = "out"}) {
  %w = train.read @w : tensor<4x5xf32>
  %z = graph.matmul %x, %w : (tensor<8x3x4xf32>, tensor<4x5xf32>) -> tensor<8x3x5xf32>
  %s = graph.softmax %z {axis = 1 : i64} : tensor<8x3x5xf32>
  return %s : tensor<8x3x5xf32>
}
