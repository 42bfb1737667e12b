// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-decompose | FileCheck %s
// RUN: mpc-opt %s --mpc-decompose | FileCheck %s --check-prefix=HOST
// On GPUs depthwise convolutions become sums over windows. On the host they have kernels of their own.

// CHECK-LABEL: @forward
// CHECK: %[[W:.*]] = graph.transpose %{{.*}} {permutation = array<i64: 1, 0>} : (tensor<8x9xf16>) -> tensor<9x8xf16>
// CHECK: %[[V:.*]] = graph.reshape %[[W]] : tensor<9x8xf16> to tensor<3x3x8xf16>
// CHECK: graph.depthwise_conv %{{.*}}, %[[V]] {{.*}}kernel = array<i64: 3, 3>{{.*}}strides = array<i64: 2, 2>
// HOST-LABEL: @forward
// HOST-NEXT: graph.conv
func.func @forward(%x: tensor<2x6x6x8xf16>, %w: tensor<8x3x3x1xf16>) -> tensor<2x3x3x8xf16> {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 8 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<2x6x6x8xf16>, tensor<8x3x3x1xf16>) -> tensor<2x3x3x8xf16>
  return %0 : tensor<2x3x3x8xf16>
}

// CHECK-LABEL: @input_grad
// CHECK: graph.depthwise_input_grad
// HOST-LABEL: @input_grad
// HOST-NEXT: graph.conv_input_grad
func.func @input_grad(%dy: tensor<2x8x3xf32>, %w: tensor<8x1x2xf32>) -> tensor<2x8x4xf32> {
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 8 : i64} : (tensor<2x8x3xf32>, tensor<8x1x2xf32>) -> tensor<2x8x4xf32>
  return %0 : tensor<2x8x4xf32>
}

// The gradient of each of the two positions is a sum of products.
// CHECK-LABEL: @weight_grad
// CHECK: %[[DY:.*]] = graph.cast %{{.*}} : tensor<2x8x3xf16> to tensor<2x8x3xf32>
// CHECK: graph.pad %{{.*}}high = array<i64: 0, 0, -1>{{.*}}low = array<i64: 0, 0, 0>
// CHECK: %[[A:.*]] = graph.reduce_sum %{{.*}} {axes = array<i64: 0, 2>
// CHECK: graph.pad %{{.*}}high = array<i64: 0, 0, 0>{{.*}}low = array<i64: 0, 0, -1>
// CHECK: %[[B:.*]] = graph.reduce_sum %{{.*}} {axes = array<i64: 0, 2>
// CHECK: graph.concat
// CHECK: graph.transpose
func.func @weight_grad(%x: tensor<2x8x4xf16>, %dy: tensor<2x8x3xf16>) -> tensor<8x1x2xf16> {
  %0 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 8 : i64} : (tensor<2x8x4xf16>, tensor<2x8x3xf16>) -> tensor<8x1x2xf16>
  return %0 : tensor<8x1x2xf16>
}

// Two channels of y for each of x, and windows of more than 49 positions, stay products.
// CHECK-LABEL: @others
// CHECK: graph.conv
// CHECK: graph.conv
func.func @others(%x: tensor<2x4x60xf32>, %v: tensor<8x1x2xf32>, %w: tensor<4x1x50xf32>) -> (tensor<2x8x59xf32>, tensor<2x4x11xf32>) {
  %0 = graph.conv %x, %v {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 4 : i64} : (tensor<2x4x60xf32>, tensor<8x1x2xf32>) -> tensor<2x8x59xf32>
  %1 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 4 : i64} : (tensor<2x4x60xf32>, tensor<4x1x50xf32>) -> tensor<2x4x11xf32>
  return %0, %1 : tensor<2x8x59xf32>, tensor<2x4x11xf32>
}
