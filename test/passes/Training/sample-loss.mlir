// RUN: mpc-opt %s --split-input-file --mpc-attach-loss=loss=output:loss | FileCheck %s

// Where time is in front, and as long as the batch, a sample's elements are a column.
// CHECK-LABEL: func.func @eval
// CHECK: %[[LOSS:.*]] = graph.reduce_sum %{{.*}} {axes = array<i64: 0, 2>, keepdims = false} : (tensor<4x4x1xf32>) -> tensor<4xf32>
// CHECK: %[[WEIGHT:.*]] = graph.constant dense<4.000000e+00> : tensor<4xf32>
// CHECK: return %[[LOSS]], %[[WEIGHT]]
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x4xf32> {train.name = "x", train.batched}) -> (tensor<f32> {train.name = "loss"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %t = graph.transpose %z {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = graph.mul %t, %t : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = graph.reduce_mean %e {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Rows of time steps and samples: row 2 * t + n belongs to sample n.
// CHECK-LABEL: func.func @eval
// CHECK: %[[R:.*]] = graph.reshape %{{.*}} : tensor<6x5xf32> to tensor<3x2x5xf32>
// CHECK: graph.reduce_sum %[[R]] {axes = array<i64: 0, 2>, keepdims = false} : (tensor<3x2x5xf32>) -> tensor<2xf32>
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<2x3x5xf32> {train.name = "x", train.batched}) -> (tensor<f32> {train.name = "loss"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<2x3x5xf32>, tensor<f32>) -> tensor<2x3x5xf32>
  %t = graph.transpose %z {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x5xf32>) -> tensor<3x2x5xf32>
  %rows = graph.reshape %t : tensor<3x2x5xf32> to tensor<6x5xf32>
  %e = graph.abs %rows : tensor<6x5xf32>
  %loss = graph.reduce_mean %e {axes = array<i64: 0, 1>, keepdims = false} : (tensor<6x5xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A mask that is the same for each batch lies where the elements do.
// CHECK-LABEL: func.func @eval
// CHECK-SAME: train.name = "sample_weight"
// CHECK-DAG: graph.reduce_sum %{{.*}} {axes = array<i64: 0, 2>, keepdims = false} : (tensor<3x2x1xf32>) -> tensor<2xf32>
// CHECK-DAG: %[[M:.*]] = graph.constant dense<{{.*}}> : tensor<3x2xf32>
// CHECK-DAG: %[[W:.*]] = graph.reshape %[[M]] : tensor<3x2xf32> to tensor<3x2x1xf32>
// CHECK-DAG: graph.reduce_sum %[[W]] {axes = array<i64: 0, 2>
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<2x3xf32> {train.name = "x", train.batched}) -> (tensor<f32> {train.name = "loss"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %t = graph.transpose %z {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %m = graph.constant dense<[[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]> : tensor<3x2xf32>
  %e = graph.mul %t, %m : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %sum = graph.reduce_sum %e {axes = array<i64: 0, 1>, keepdims = false} : (tensor<3x2xf32>) -> tensor<f32>
  %all = graph.reduce_sum %m {axes = array<i64: 0, 1>, keepdims = false} : (tensor<3x2xf32>) -> tensor<f32>
  %loss = graph.div %sum, %all : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// In the loss of contrasts every sample is a class of the others: a row has no loss of its own.
// So they are no scores that predict returns, either, unless they are named.
// CHECK-LABEL: func.func @eval
// CHECK-SAME: -> (tensor<f32> {train.name = "loss", train.role = "loss"}
// CHECK-LABEL: func.func @predict
// CHECK-SAME: -> (tensor<4x3xf32> {train.batched, train.name = "z", train.role = "output"}) {
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}, %y: tensor<4x3xf32> {train.name = "y", train.batched})
    -> (tensor<f32> {train.name = "loss"}, tensor<4x3xf32> {train.name = "z"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %scores = graph.matmul %z, %y {transpose_b} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  %own = graph.iota {axis = 0 : i64} : tensor<4xi64>
  %loss = graph.softmax_cross_entropy %scores, %own {reduction = #graph<reduction mean>} : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<f32>
  return %loss, %z : tensor<f32>, tensor<4x3xf32>
}

// -----

// A matrix of features has as many rows as the batch has samples, and none belongs to one.
// CHECK-LABEL: func.func @eval
// CHECK-SAME: -> (tensor<f32> {train.name = "loss", train.role = "loss"}
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x4xf32> {train.name = "x", train.batched}) -> (tensor<f32> {train.name = "loss"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %t = graph.transpose %z {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %features = graph.matmul %t, %z : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = graph.reduce_sum %features {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Distances from the mean of the batch mix samples.
// CHECK-LABEL: func.func @eval
// CHECK-SAME: -> (tensor<f32> {train.name = "loss", train.role = "loss"}
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<f32> {train.name = "loss"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %mean = graph.reduce_mean %z {axes = array<i64: 0>, keepdims = true} : (tensor<4x3xf32>) -> tensor<1x3xf32>
  %e = graph.sub %z, %mean : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %loss = graph.reduce_mean %e {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Parts of a mean that is multiplied: kl_div's batchmean, and what is maximised.
// CHECK-LABEL: func.func @eval
// CHECK: %[[C:.*]] = graph.constant dense<-2.500000e-01>
// CHECK: %[[L:.*]] = graph.mul %{{.*}}, %[[C]] : (tensor<4xf32>, {{.*}}) -> tensor<4xf32>
// CHECK: return %[[L]],
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<f32> {train.name = "loss"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %sum = graph.reduce_sum %z {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<f32>
  %n = graph.constant dense<4.0> : tensor<f32>
  %mean = graph.div %sum, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = graph.neg %mean : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A batch of one sample decides all of its numbers.
// CHECK-LABEL: func.func @eval
// CHECK-SAME: train.name = "sample_loss"
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
func.func @forward(%x: tensor<1x3xf32> {train.name = "x", train.batched}, %y: tensor<1x1xi64> {train.name = "y", train.batched}) -> (tensor<f32> {train.name = "loss"}) {
  %w = train.read @w : tensor<f32>
  %z = graph.mul %x, %w : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %row = graph.reshape %z : tensor<1x3xf32> to tensor<3xf32>
  %picked = graph.gather %row, %y {axis = 0 : i64} : (tensor<3xf32>, tensor<1x1xi64>) -> tensor<1x1xf32>
  %loss = graph.reduce_mean %picked {axes = array<i64: 0, 1>, keepdims = false} : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
