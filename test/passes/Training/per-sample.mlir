// RUN: mpc-opt %s --mpc-attach-loss=loss=mse:follows:t -split-input-file | FileCheck %s

// Outputs have a part for each sample (batched), do not depend on the samples (fixed), or mix them.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
train.variable @m parameter : tensor<3x5xf32> = #train.fill<1.0>
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: tensor<4x3xf32> {train.batched, train.name = "follows"
// CHECK-SAME: tensor<3xf32> {train.fixed, train.name = "weight"
// CHECK-SAME: tensor<4x3xf32> {train.fixed, train.name = "side"
// CHECK-SAME: tensor<4xf32> {train.batched, train.name = "row_mean"
// This mean over the batch is of four values for each sample, so it has as many elements as the batch has samples.
// CHECK-SAME: tensor<4xf32> {train.name = "batch_mean"
// CHECK-SAME: tensor<4x3xf32> {train.name = "centered"
// CHECK-SAME: tensor<3x4xf32> {train.name = "by_class"
// CHECK-SAME: tensor<4x5xf32> {train.batched, train.name = "product"
// CHECK-SAME: tensor<4x4xf32> {train.name = "similarity"
// CHECK-SAME: tensor<4x3xf32> {train.name = "over_batch"
// CHECK-SAME: tensor<4x3xf32> {train.batched, train.name = "over_classes"
// CHECK-SAME: tensor<4x3xf32> {train.name = "reversed"
// CHECK-SAME: tensor<8x3xf32> {train.name = "twice"
// CHECK-SAME: tensor<4x6xf32> {train.batched, train.name = "beside"
// CHECK-SAME: tensor<12xf32> {train.batched, train.name = "flat"
// CHECK-SAME: tensor<2x6xf32> {train.name = "halves"
// CHECK-SAME: tensor<12xf32> {train.name = "interleaved"
// CHECK-SAME: tensor<4x3xf32> {train.batched, train.name = "back"
// CHECK-SAME: tensor<4x5xf32> {train.batched, train.name = "embedded"
// CHECK-SAME: tensor<4xf32> {train.name = "picked"
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}, %i: tensor<4xi64> {train.name = "i", train.batched},
                   %side: tensor<4x3xf32> {train.name = "side_in"})
    -> (tensor<4x3xf32> {train.name = "follows"}, tensor<3xf32> {train.name = "weight"}, tensor<4x3xf32> {train.name = "side"},
        tensor<4xf32> {train.name = "row_mean"}, tensor<4xf32> {train.name = "batch_mean"}, tensor<4x3xf32> {train.name = "centered"},
        tensor<3x4xf32> {train.name = "by_class"}, tensor<4x5xf32> {train.name = "product"}, tensor<4x4xf32> {train.name = "similarity"},
        tensor<4x3xf32> {train.name = "over_batch"}, tensor<4x3xf32> {train.name = "over_classes"}, tensor<4x3xf32> {train.name = "reversed"},
        tensor<8x3xf32> {train.name = "twice"}, tensor<4x6xf32> {train.name = "beside"}, tensor<12xf32> {train.name = "flat"},
        tensor<2x6xf32> {train.name = "halves"}, tensor<12xf32> {train.name = "interleaved"}, tensor<4x3xf32> {train.name = "back"},
        tensor<4x5xf32> {train.name = "embedded"}, tensor<4xf32> {train.name = "picked"}) {
  %w = train.read @w : tensor<3xf32>
  %m = train.read @m : tensor<3x5xf32>
  %follows = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %side_out = graph.mul %side, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %row_mean = graph.reduce_mean %x {axes = array<i64: 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<4xf32>
  %four = graph.concat %x, %x {axis = 1 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %first = graph.slice %four {starts = array<i64: 0, 0>, sizes = array<i64: 4, 4>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %batch_mean = graph.reduce_mean %first {axes = array<i64: 0>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %mean = graph.reduce_mean %x {axes = array<i64: 0>, keepdims = false} : (tensor<4x3xf32>) -> tensor<3xf32>
  %centered = graph.sub %x, %mean : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %by_class = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %product = graph.matmul %x, %m : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %similarity = graph.matmul %x, %x {transpose_b} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  %over_batch = graph.softmax %x {axis = 0 : i64} : tensor<4x3xf32>
  %over_classes = graph.softmax %x {axis = 1 : i64} : tensor<4x3xf32>
  %reversed = graph.slice %x {starts = array<i64: 3, 0>, sizes = array<i64: 4, 3>, strides = array<i64: -1, 1>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %twice = graph.concat %x, %x {axis = 0 : i64} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %flat = graph.reshape %x : tensor<4x3xf32> to tensor<12xf32>
  %halves = graph.reshape %x : tensor<4x3xf32> to tensor<2x6xf32>
  %interleaved = graph.reshape %by_class : tensor<3x4xf32> to tensor<12xf32>
  %apart = graph.reshape %interleaved : tensor<12xf32> to tensor<3x4xf32>
  %abs = graph.abs %apart : tensor<3x4xf32>
  %back = graph.transpose %abs {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %table = graph.transpose %m {permutation = array<i64: 0, 1>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %embedded = graph.gather %table, %i {axis = 0 : i64} : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  %picked = graph.gather %row_mean, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %follows, %w, %side_out, %row_mean, %batch_mean, %centered, %by_class, %product, %similarity, %over_batch, %over_classes, %reversed,
      %twice, %four, %flat, %halves, %interleaved, %back, %embedded, %picked
      : tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>, tensor<3x4xf32>, tensor<4x5xf32>, tensor<4x4xf32>,
        tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<8x3xf32>, tensor<4x6xf32>, tensor<12xf32>, tensor<2x6xf32>, tensor<12xf32>,
        tensor<4x3xf32>, tensor<4x5xf32>, tensor<4xf32>
}

// -----

// In a batch of one, a dimension that keeps its place counts as the batch, and one that remains after the batch is reduced does not.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: tensor<1x4xf32> {train.batched, train.name = "follows"
// CHECK-SAME: tensor<4xf32> {train.name = "batch_mean"
// CHECK-SAME: tensor<4x1xf32> {train.name = "by_class"
// As in torch's attention, the sequence comes first; it is flattened and restored.
// CHECK-SAME: tensor<1x2x2xf32> {train.batched, train.name = "sequence"
func.func @forward(%x: tensor<1x4xf32> {train.name = "x", train.batched})
    -> (tensor<1x4xf32> {train.name = "follows"}, tensor<4xf32> {train.name = "batch_mean"}, tensor<4x1xf32> {train.name = "by_class"},
        tensor<1x2x2xf32> {train.name = "sequence"}) {
  %w = train.read @w : tensor<4xf32>
  %follows = graph.mul %x, %w : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  %mean = graph.reduce_mean %x {axes = array<i64: 0>, keepdims = false} : (tensor<1x4xf32>) -> tensor<4xf32>
  %by_class = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<1x4xf32>) -> tensor<4x1xf32>
  %steps = graph.reshape %x : tensor<1x4xf32> to tensor<1x2x2xf32>
  %first = graph.transpose %steps {permutation = array<i64: 1, 0, 2>} : (tensor<1x2x2xf32>) -> tensor<2x1x2xf32>
  %flat = graph.reshape %first : tensor<2x1x2xf32> to tensor<2x2xf32>
  %abs = graph.softmax %flat {axis = 1 : i64} : tensor<2x2xf32>
  %apart = graph.reshape %abs : tensor<2x2xf32> to tensor<2x1x2xf32>
  %sequence = graph.transpose %apart {permutation = array<i64: 1, 0, 2>} : (tensor<2x1x2xf32>) -> tensor<1x2x2xf32>
  return %follows, %mean, %by_class, %sequence : tensor<1x4xf32>, tensor<4xf32>, tensor<4x1xf32>, tensor<1x2x2xf32>
}
