// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-decompose --canonicalize --cse --mpc-form-dispatches --mpc-split-reductions | FileCheck %s
// The sums of a depthwise convolution's weight gradient read x at another place for each position of the window. What they add is stored nowhere.

// The nine sums of a 3x3 window are one launch, with a piece for each row of a picture: 7168 of them, which are summed up in two more launches.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: 64x112x112x32xf32
// CHECK: kernel.dispatch reduction {{.*}} : (tensor<64x112x112x32xf16>, tensor<64x112x112x32xf16>) -> (tensor<64x112x32xf32>
// CHECK-COUNT-9: graph.reduce_sum {{.*}} {axes = array<i64: 2>, keepdims = false}
// CHECK: kernel.yield
// CHECK-COUNT-9: graph.reduce_sum {{.*}}tensor<56x128x32xf32>) -> tensor<56x32xf32>
// CHECK-COUNT-9: graph.reduce_sum {{.*}}tensor<56x32xf32>) -> tensor<32xf32>
func.func @rows(%x: tensor<64x112x112x32xf16>, %dy: tensor<64x112x112x32xf16>) -> tensor<32x3x3x1xf16> {
  %0 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 32 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<64x112x112x32xf16>, tensor<64x112x112x32xf16>) -> tensor<32x3x3x1xf16>
  return %0 : tensor<32x3x3x1xf16>
}

// With a stride, the slice and the pad of a position are computed in the launch too. Here a piece is a picture, though few of them.
// CHECK-LABEL: func.func @pictures
// CHECK-NOT: 16x7x7x960xf32
// CHECK: kernel.dispatch reduction {{.*}} : (tensor<16x7x7x960xf16>, tensor<16x14x14x960xf16>) -> (tensor<16x960xf32>
// CHECK: graph.pad
// CHECK-NEXT: graph.slice
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 1, 2>, keepdims = false}
func.func @pictures(%x: tensor<16x14x14x960xf16>, %dy: tensor<16x7x7x960xf16>) -> tensor<960x3x3x1xf16> {
  %0 = graph.conv_weight_grad %x, %dy {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 960 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<16x14x14x960xf16>, tensor<16x7x7x960xf16>) -> tensor<960x3x3x1xf16>
  return %0 : tensor<960x3x3x1xf16>
}

// Twelve positions are nine sums in one launch and three in another.
// CHECK-LABEL: func.func @positions
// CHECK: kernel.dispatch reduction
// CHECK-COUNT-9: graph.reduce_sum
// CHECK: kernel.yield
// CHECK: kernel.dispatch reduction
// CHECK-COUNT-3: graph.reduce_sum
// CHECK: kernel.yield
// CHECK: kernel.dispatch pointwise
func.func @positions(%x: tensor<2x15x8xf32>, %dy: tensor<2x4x8xf32>) -> tensor<8x12x1xf32> {
  %0 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 8 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<2x15x8xf32>, tensor<2x4x8xf32>) -> tensor<8x12x1xf32>
  return %0 : tensor<8x12x1xf32>
}
