// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-pad-channels --canonicalize --cse | FileCheck %s

// Three channels of input and weights become four, and the gradient of the fourth is dropped. The padded input is computed once.
// CHECK-LABEL: @picture
// CHECK: %[[X:.*]] = graph.pad %arg0 {high = array<i64: 0, 0, 0, 1>, {{.*}} : (tensor<16384x8x8x3xf16>) -> tensor<16384x8x8x4xf16>
// CHECK: %[[W:.*]] = graph.pad %arg1 {high = array<i64: 0, 0, 0, 1>, {{.*}} : (tensor<16x3x3x3xf16>) -> tensor<16x3x3x4xf16>
// CHECK: %[[Y:.*]] = graph.conv %[[X]], %[[W]] {{.*}} -> tensor<16384x8x8x16xf16>
// CHECK: %[[DW:.*]] = graph.conv_weight_grad %[[X]], %[[Y]] {{.*}} -> tensor<16x3x3x4xf16>
// CHECK: graph.slice %[[DW]] {sizes = array<i64: 16, 3, 3, 3>, starts = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}
func.func @picture(%x: tensor<16384x8x8x3xf16>, %w: tensor<16x3x3x3xf16>) -> (tensor<16384x8x8x16xf16>, tensor<16x3x3x3xf16>) {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<16384x8x8x3xf16>, tensor<16x3x3x3xf16>) -> tensor<16384x8x8x16xf16>
  %dw = graph.conv_weight_grad %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<16384x8x8x3xf16>, tensor<16384x8x8x16xf16>) -> tensor<16x3x3x3xf16>
  return %y, %dw : tensor<16384x8x8x16xf16>, tensor<16x3x3x3xf16>
}

// Channels are not padded where that would add more than a third, nor in fp32, nor in the other layout, nor in small convolutions.
// CHECK-LABEL: @others
// CHECK-NOT: graph.pad
func.func @others(%one: tensor<16384x8x8x1xf16>, %w1: tensor<16x3x3x1xf16>, %x: tensor<16384x8x8x3xf32>, %w: tensor<16x3x3x3xf32>, %first: tensor<16384x3x8x8xf16>, %w2: tensor<16x3x3x3xf16>, %small: tensor<2x8x8x3xf16>) -> (tensor<16384x8x8x16xf16>, tensor<16384x8x8x16xf32>, tensor<16384x16x8x8xf16>, tensor<2x8x8x16xf16>) {
  %a = graph.conv %one, %w1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<16384x8x8x1xf16>, tensor<16x3x3x1xf16>) -> tensor<16384x8x8x16xf16>
  %b = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<16384x8x8x3xf32>, tensor<16x3x3x3xf32>) -> tensor<16384x8x8x16xf32>
  %c = graph.conv %first, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<16384x3x8x8xf16>, tensor<16x3x3x3xf16>) -> tensor<16384x16x8x8xf16>
  %d = graph.conv %small, %w2 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<2x8x8x3xf16>, tensor<16x3x3x3xf16>) -> tensor<2x8x8x16xf16>
  return %a, %b, %c, %d : tensor<16384x8x8x16xf16>, tensor<16384x8x8x16xf32>, tensor<16384x16x8x8xf16>, tensor<2x8x8x16xf16>
}

// The fourth channel is added before the transpose that makes an image channels-last.
// CHECK-LABEL: @transposed
// CHECK: %[[P:.*]] = graph.pad %arg0 {high = array<i64: 0, 1, 0, 0>, {{.*}} : (tensor<16384x3x8x8xf16>) -> tensor<16384x4x8x8xf16>
// CHECK: %[[T:.*]] = graph.transpose %[[P]] {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: graph.conv %[[T]]
func.func @transposed(%x: tensor<16384x3x8x8xf16>, %w: tensor<16x3x3x3xf16>) -> tensor<16384x8x8x16xf16> {
  %t = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<16384x3x8x8xf16>) -> tensor<16384x8x8x3xf16>
  %y = graph.conv %t, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<16384x8x8x3xf16>, tensor<16x3x3x3xf16>) -> tensor<16384x8x8x16xf16>
  return %y : tensor<16384x8x8x16xf16>
}

// Where there is nothing to compute, nothing is padded.
// CHECK-LABEL: @empty
// CHECK-NOT: graph.pad
func.func @empty(%x: tensor<64x64x64x3xf16>, %w: tensor<0x3x3x3xf16>) -> tensor<64x64x64x0xf16> {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<64x64x64x3xf16>, tensor<0x3x3x3xf16>) -> tensor<64x64x64x0xf16>
  return %y : tensor<64x64x64x0xf16>
}
