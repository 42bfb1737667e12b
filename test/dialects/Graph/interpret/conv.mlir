// RUN: mpc-interpret %s | FileCheck %s
// RUN: mpc-interpret %s --entry=average | FileCheck %s --check-prefix=AVERAGE
// RUN: mpc-interpret %s --entry=depthwise | FileCheck %s --check-prefix=DEPTHWISE
// These are matrix products, convolutions and pooling on numbers small enough to compute by hand.

func.func @main() -> (tensor<2x2xf32>, tensor<2x1x1xf32>, tensor<1x1x3x3xf32>, tensor<1x3x3x1xf32>, tensor<1x1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>,
                      tensor<1x1x2x2xf32>, tensor<1x1x2x2xi16>, tensor<1x1x3x3xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x1xf32>, tensor<1x1x1xi16>, tensor<1x1x3xf32>) {
  %a = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  // CHECK: 0: tensor<2x2xf32> = {{\[\[}}7, 15], [10, 22]]
  %0 = graph.matmul %a, %a {transpose_a, transpose_b} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = graph.constant dense<[[[1.0, 1.0]], [[2.0, 0.0]]]> : tensor<2x1x2xf32>
  %c = graph.constant dense<[[3.0], [5.0]]> : tensor<2x1xf32>
  // CHECK: 1: tensor<2x1x1xf32> = {{\[\[\[}}8]], {{\[\[}}6]]]
  %1 = graph.matmul %b, %c : (tensor<2x1x2xf32>, tensor<2x1xf32>) -> tensor<2x1x1xf32>

  // A window of [[1, 2], [3, 4]] slides over 1..9 with one row of zeros above and one column at the right.
  %x = graph.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>
  %w = graph.constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  // CHECK: 2: tensor<1x1x3x3xf32> = {{\[\[\[\[}}11, 18, 9], [37, 47, 21], [67, 77, 33]]]]
  %2 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 0, 1>, groups = 1 : i64} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x3x3xf32>
  %l = graph.reshape %x : tensor<1x1x3x3xf32> to tensor<1x3x3x1xf32>
  // CHECK: 3: tensor<1x3x3x1xf32> = {{\[\[\[\[}}11], [18], [9]], {{\[\[}}37], [47], [21]], {{\[\[}}67], [77], [33]]]]
  %3 = graph.conv %l, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 0, 1>, groups = 1 : i64, layout = #graph<layout channels_last>} : (tensor<1x3x3x1xf32>, tensor<1x1x2x2xf32>) -> tensor<1x3x3x1xf32>
  // With stride 2 and dilation 2, only the corners count.
  // CHECK: 4: tensor<1x1x2x2xf32> = {{\[\[\[\[}}20, 15], [10, 5]]]]
  %4 = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 2, 2>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 2, 2>, groups = 1 : i64} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  // There are two groups of one channel, in one dimension: (1,2,3)*(1,-1) and (4,5,6)*(2,1).
  %gx = graph.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %gw = graph.constant dense<[[[1.0, -1.0]], [[2.0, 1.0]]]> : tensor<2x1x2xf32>
  // CHECK: 5: tensor<1x2x2xf32> = {{\[\[\[}}-1, -1], [13, 16]]]
  %5 = graph.conv %gx, %gw {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 2 : i64} : (tensor<1x2x3xf32>, tensor<2x1x2xf32>) -> tensor<1x2x2xf32>
  // Each element of dy adds a scaled kernel to dx. The gradient of a weight is the product of dy and the shifted x.
  %dy = graph.constant dense<[[[[1.0, 10.0], [100.0, 1000.0]]]]> : tensor<1x1x2x2xf32>
  // CHECK: 6: tensor<1x1x3x3xf32> = {{\[\[\[\[}}1, 12, 20], [103, 1234, 2040], [300, 3400, 4000]]]]
  %6 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x3x3xf32>
  // CHECK: 7: tensor<1x1x2x2xf32> = {{\[\[\[\[}}5421, 6532], [8754, 9865]]]]
  %7 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>

  // Windows at the borders hold fewer elements. The argmax counts positions in the whole window and takes the first of equal elements.
  %m = graph.constant dense<[[[[5.0, 5.0, 1.0], [5.0, 0.0, 2.0], [0.0, 3.0, 2.0]]]]> : tensor<1x1x3x3xf32>
  // CHECK: 8: tensor<1x1x2x2xf32> = {{\[\[\[\[}}5, 5], [5, 3]]]]
  // CHECK: 9: tensor<1x1x2x2xi16> = {{\[\[\[\[}}3, 2], [1, 2]]]]
  %8, %9 = graph.max_pool %m {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 0, 0>} : (tensor<1x1x3x3xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi16>)
  // CHECK: 10: tensor<1x1x3x3xf32> = {{\[\[\[\[}}1, 10, 0], [100, 0, 0], [0, 1000, 0]]]]
  %10 = graph.max_pool_grad %dy, %9 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 0, 0>} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi16>) -> tensor<1x1x3x3xf32>
  // The windows are {pad, 6} and {9, 12}. With count_include_pad the first sum is divided by 2.
  %n = graph.constant dense<[[[6.0, 9.0, 12.0]]]> : tensor<1x1x3xf32>
  // CHECK: 11: tensor<1x1x2xf32> = {{\[\[\[}}6, 10.5]]]
  %11 = graph.avg_pool %n {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 0>} : (tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  // CHECK: 12: tensor<1x1x2xf32> = {{\[\[\[}}3, 10.5]]]
  %12 = graph.avg_pool %n {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 0>, count_include_pad} : (tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  // This window is larger than the input with its padding. ceil_mode counts it (as ONNX and torch do), and it has the elements that exist.
  // CHECK: 13: tensor<1x1x1xf32> = {{\[\[\[}}12]]]
  // CHECK: 14: tensor<1x1x1xi16> = {{\[\[\[}}2]]]
  %13, %14 = graph.max_pool %n {kernel = array<i64: 4>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, ceil_mode} : (tensor<1x1x3xf32>) -> (tensor<1x1x1xf32>, tensor<1x1x1xi16>)
  // CHECK: 15: tensor<1x1x3xf32> = {{\[\[\[}}0, 0, 12]]]
  %15 = graph.max_pool_grad %13, %14 {kernel = array<i64: 4>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : (tensor<1x1x1xf32>, tensor<1x1x1xi16>) -> tensor<1x1x3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 : tensor<2x2xf32>, tensor<2x1x1xf32>, tensor<1x1x3x3xf32>, tensor<1x3x3x1xf32>, tensor<1x1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xi16>, tensor<1x1x3x3xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x1xf32>, tensor<1x1x1xi16>, tensor<1x1x3xf32>
}

// The first window has one element, and the second has two, which share its cotangent.
func.func @average() -> tensor<1x1x3xf32> {
  %dy = graph.constant dense<[[[4.0, 10.0]]]> : tensor<1x1x2xf32>
  // AVERAGE: 0: tensor<1x1x3xf32> = {{\[\[\[}}4, 5, 5]]]
  %0 = graph.avg_pool_grad %dy {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 0>} : (tensor<1x1x2xf32>) -> tensor<1x1x3xf32>
  return %0 : tensor<1x1x3xf32>
}

// Each channel has weights of its own, [kernel, C]: 1 and 2 for the first, 10 and 20 for the second.
func.func @depthwise() -> (tensor<1x2x2xf32>, tensor<1x2x3xf32>) {
  %x = graph.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %w = graph.constant dense<[[1.0, 10.0], [2.0, 20.0]]> : tensor<2x2xf32>
  // DEPTHWISE: 0: tensor<1x2x2xf32> = {{\[\[\[}}2, 8], [80, 170]]]
  %0 = graph.depthwise_conv %x, %w {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 0>} : (tensor<1x2x3xf32>, tensor<2x2xf32>) -> tensor<1x2x2xf32>
  // DEPTHWISE: 1: tensor<1x2x3xf32> = {{\[\[\[}}4, 8, 16], [1600, 1700, 3400]]]
  %1 = graph.depthwise_input_grad %0, %w {kernel = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 0>} : (tensor<1x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x3xf32>
  return %0, %1 : tensor<1x2x2xf32>, tensor<1x2x3xf32>
}
