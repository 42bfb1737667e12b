// RUN: mpc-opt %s --mpc-channels-last --split-input-file | FileCheck %s

// Transposes sink through bias, batch norm, relu and pooling; the input is stored transposed; one is left before the flatten.
// CHECK-LABEL: @block
// CHECK-SAME: %[[X:.*]]: tensor<2x8x8x3xf32> {train.permutation = array<i64: 0, 2, 3, 1>}
// CHECK-NOT: graph.transpose
// CHECK: graph.conv %[[X]], %{{.*}} {{.*}}channels_last
// CHECK: graph.add {{.*}} : (tensor<2x8x8x4xf32>, tensor<1x1x1x4xf32>)
// CHECK: graph.batch_norm {{.*}} {axis = 3 : i64
// CHECK: graph.relu
// CHECK: graph.max_pool {{.*}}channels_last
// CHECK: graph.transpose {{.*}}permutation = array<i64: 0, 3, 1, 2>
// CHECK: graph.reshape
func.func @block(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<2x64xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.reshape %b : tensor<4xf32> to tensor<4x1x1xf32>
  %2 = graph.add %0, %1 : (tensor<2x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<2x4x8x8xf32>
  %3:3 = graph.batch_norm %2, %s, %b {epsilon = 1.0e-5 : f64, axis = 1 : i64} : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  %4 = graph.relu %3#0 : tensor<2x4x8x8xf32>
  %5:2 = graph.max_pool %4 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi16>)
  %6 = graph.reshape %5#0 : tensor<2x4x4x4xf32> to tensor<2x64xf32>
  return %6 : tensor<2x64xf32>
}

// -----
// Global pooling takes the transpose away altogether.
// CHECK-LABEL: @global_pool
// CHECK: graph.conv
// CHECK-NEXT: graph.reduce_mean {{.*}}axes = array<i64: 1, 2>{{.*}} -> tensor<2x4xf32>
// CHECK-NEXT: return
func.func @global_pool(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.reduce_mean %0 {axes = array<i64: 2, 3>, keepdims = false} : (tensor<2x4x8x8xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----
// A dropout's mask depends on the order of its elements: it stays where it is.
// CHECK-LABEL: @dropout
// CHECK: graph.conv
// CHECK: graph.transpose
// CHECK: graph.dropout {{.*}} -> tensor<2x4x8x8xf32>
func.func @dropout(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %seed: tensor<i64>) -> tensor<2x4x8x8xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.dropout %0, %seed, %seed {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<2x4x8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4x8x8xf32>
  return %1 : tensor<2x4x8x8xf32>
}

// -----
// Nothing with a layout, nothing to do.
// CHECK-LABEL: @untouched
// CHECK-NEXT: graph.relu
// CHECK-NEXT: return
func.func @untouched(%x: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  %0 = graph.relu %x : tensor<2x3x8x8xf32>
  return %0 : tensor<2x3x8x8xf32>
}
