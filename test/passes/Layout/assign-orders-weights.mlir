// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-assign-orders --canonicalize --cse --split-input-file | FileCheck %s

// The weight, its low-precision copy and its momentum are stored channels-last; no transpose is left. The bias is not touched.
// CHECK: train.variable @w parameter : tensor<4x3x3x8xf32> = dense<1.000000e+00> : tensor<4x8x3x3xf32> {train.permutation = array<i64: 0, 2, 3, 1>}
// CHECK: train.variable @"w/f16" copy : tensor<4x3x3x8xf16> = #train.copy_of<@w> {of = @w, train.permutation = array<i64: 0, 2, 3, 1>}
// CHECK: train.variable @"w/momentum" slot : tensor<4x3x3x8xf32>
// CHECK: train.variable @b parameter : tensor<4xf32>
train.variable @w parameter : tensor<4x8x3x3xf32> = dense<1.0> : tensor<4x8x3x3xf32>
train.variable @"w/f16" copy : tensor<4x8x3x3xf16> = #train.copy_of<@w> {of = @w}
train.variable @"w/momentum" slot : tensor<4x8x3x3xf32> = #train.fill<0.0> {of = @w}
train.variable @b parameter : tensor<4xf32> = dense<0.0> : tensor<4xf32>

// CHECK-LABEL: @step
// CHECK-NOT: graph.transpose
// CHECK: graph.conv {{.*}}weight_channels_last} : (tensor<2x8x8x8xf16>, tensor<4x3x3x8xf16>) -> tensor<2x8x8x4xf16>
// CHECK: graph.conv_weight_grad {{.*}}weight_channels_last} : (tensor<2x8x8x8xf16>, tensor<2x8x8x4xf16>) -> tensor<4x3x3x8xf16>
// CHECK: train.assign @w, %{{.*}} : tensor<4x3x3x8xf32>
func.func @step(%x: tensor<2x8x8x8xf16>) {
  %w16 = train.read @"w/f16" : tensor<4x8x3x3xf16>
  %y = graph.conv %x, %w16 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x8x8x8xf16>, tensor<4x8x3x3xf16>) -> tensor<2x4x8x8xf16>
  %dw = graph.conv_weight_grad %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x8x8x8xf16>, tensor<2x4x8x8xf16>) -> tensor<4x8x3x3xf16>
  %g = graph.cast %dw : tensor<4x8x3x3xf16> to tensor<4x8x3x3xf32>
  %m = train.read @"w/momentum" : tensor<4x8x3x3xf32>
  %m1 = graph.add %m, %g : (tensor<4x8x3x3xf32>, tensor<4x8x3x3xf32>) -> tensor<4x8x3x3xf32>
  %w = train.read @w : tensor<4x8x3x3xf32>
  %w1 = graph.sub %w, %m1 : (tensor<4x8x3x3xf32>, tensor<4x8x3x3xf32>) -> tensor<4x8x3x3xf32>
  %c1 = graph.cast %w1 : tensor<4x8x3x3xf32> to tensor<4x8x3x3xf16>
  train.assign @w, %w1 : tensor<4x8x3x3xf32>
  train.assign @"w/f16", %c1 : tensor<4x8x3x3xf16>
  train.assign @"w/momentum", %m1 : tensor<4x8x3x3xf32>
  return
}
