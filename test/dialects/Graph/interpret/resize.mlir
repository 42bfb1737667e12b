// RUN: mpc-interpret %s | FileCheck %s
// The expected numbers are those of ONNX's own node tests for Resize where such a test exists; it is named then.

func.func @main() -> (tensor<4x6xf32>, tensor<1x2xf32>, tensor<4x4xf32>, tensor<1x2xf32>, tensor<2x2xf32>) {
  %x = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  // test_resize_upsample_scales_nearest
  // CHECK: 0: tensor<4x6xf32> = {{\[\[}}1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2], [3, 3, 3, 4, 4, 4], [3, 3, 3, 4, 4, 4]]
  %0 = graph.resize %x {mode = #graph<resize_mode nearest>, scales = array<f64: 0.5, 0.33333333333333331>, offsets = array<f64: -0.25, -0.33333333333333331>, nearest_bias = -0.5 : f64, nearest_ceil} : (tensor<2x2xf32>) -> tensor<4x6xf32>
  %y = graph.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  // test_resize_downsample_scales_nearest
  // CHECK: 1: tensor<1x2xf32> = {{\[\[}}1, 3]]
  %1 = graph.resize %y {mode = #graph<resize_mode nearest>, scales = array<f64: 1.6666666666666667, 1.6666666666666667>, offsets = array<f64: 0.33333333333333331, 0.33333333333333331>, nearest_bias = -0.5 : f64, nearest_ceil} : (tensor<2x4xf32>) -> tensor<1x2xf32>
  // test_resize_upsample_scales_linear
  // CHECK: 2: tensor<4x4xf32> = {{\[\[}}1, 1.25, 1.75, 2], [1.5, 1.75, 2.25, 2.5], [2.5, 2.75, 3.25, 3.5], [3, 3.25, 3.75, 4]]
  %2 = graph.resize %x {mode = #graph<resize_mode linear>, scales = array<f64: 0.5, 0.5>, offsets = array<f64: -0.25, -0.25>} : (tensor<2x2xf32>) -> tensor<4x4xf32>
  // test_resize_downsample_scales_linear_align_corners with scale 0.6, where a step is 3/1 pixels.
  // CHECK: 3: tensor<1x2xf32> = {{\[\[}}1, 4]]
  %3 = graph.resize %y {mode = #graph<resize_mode linear>, scales = array<f64: 0.0, 3.0>, offsets = array<f64: 0.0, 0.0>} : (tensor<2x4xf32>) -> tensor<1x2xf32>
  // This is the transpose of the third resize, each column of whose weights sums to 4.
  %ones = graph.constant dense<1.0> : tensor<4x4xf32>
  // CHECK: 4: tensor<2x2xf32> = {{\[\[}}4, 4], [4, 4]]
  %4 = graph.resize_grad %ones {mode = #graph<resize_mode linear>, scales = array<f64: 0.5, 0.5>, offsets = array<f64: -0.25, -0.25>} : (tensor<4x4xf32>) -> tensor<2x2xf32>
  return %0, %1, %2, %3, %4 : tensor<4x6xf32>, tensor<1x2xf32>, tensor<4x4xf32>, tensor<1x2xf32>, tensor<2x2xf32>
}
