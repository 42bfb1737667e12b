// RUN: mpc-interpret %s | FileCheck %s
// RUN: mpc-interpret %s --entry=rows | FileCheck %s --check-prefix=ROWS
// RUN: mpc-interpret %s --entry=nothing_counts | FileCheck %s --check-prefix=NOTHING
// RUN: mpc-opt %s --mpc-decompose | mpc-interpret --entry=nothing_counts | FileCheck %s --check-prefix=NOTHING
// This file has normalisation, softmax, losses and dropout.

func.func @main() -> (tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<4x1xf16>, tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<1x3xf32>, tensor<1x3xf32>,
                      tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<8xf32>, tensor<2xf32>) {
  // The mean is 2.5 and the variance 1.25 (population); with epsilon 5 the divisor is 2.5.
  %x = graph.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf16>
  %scale = graph.constant dense<10.0> : tensor<1xf32>
  %bias = graph.constant dense<1.0> : tensor<1xf32>
  // CHECK: 0: tensor<4x1xf16> = {{\[\[}}-5], [-1], [3], [7]]
  // CHECK: 1: tensor<1xf32> = [2.5]
  // CHECK: 2: tensor<1xf32> = [1.25]
  %0, %1, %2 = graph.batch_norm %x, %scale, %bias {epsilon = 5.0 : f64, axis = 1 : i64} : (tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>) -> (tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>)
  // With statistics 2 and 11 the divisor is 4.
  %mean = graph.constant dense<2.0> : tensor<1xf32>
  %variance = graph.constant dense<11.0> : tensor<1xf32>
  // CHECK: 3: tensor<4x1xf16> = {{\[\[}}-1.5], [1], [3.5], [6]]
  %3 = graph.batch_norm_inference %x, %scale, %bias, %mean, %variance {epsilon = 5.0 : f64, axis = 1 : i64} : (tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x1xf16>
  // xhat = -0.6, -0.2, 0.2, 0.6; dscale = sum dy*xhat = 0.6; dx = 4 (dy - 1/4 - xhat*0.6/4) = -0.64, -0.88, -1.12, 2.64, rounded to f16.
  %dy = graph.constant dense<[[0.0], [0.0], [0.0], [1.0]]> : tensor<4x1xf16>
  // CHECK: 4: tensor<4x1xf16> = {{\[\[}}-0.6401367], [-0.8798828], [-1.1201172], [2.640625]]
  // CHECK: 5: tensor<1xf32> = [0.6]
  // CHECK: 6: tensor<1xf32> = [1]
  %4, %5, %6 = graph.batch_norm_grad %x, %scale, %1, %2, %dy {epsilon = 5.0 : f64, axis = 1 : i64} : (tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<4x1xf16>) -> (tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>)

  // e^x is 1, 2 and 5. Adding 1000 to each x does not overflow.
  %logits = graph.constant dense<[[0.0, 0.6931471805599453, 1.6094379124341003]]> : tensor<1x3xf64>
  %l32 = graph.cast %logits : tensor<1x3xf64> to tensor<1x3xf32>
  // CHECK: 7: tensor<1x3xf32> = {{\[\[}}0.125, 0.25, 0.625]]
  %7 = graph.softmax %l32 {axis = 1 : i64} : tensor<1x3xf32>
  %far = graph.constant dense<[[1000.0, 0.0, 1000.0]]> : tensor<1x3xf32>
  // CHECK: 8: tensor<1x3xf32> = {{\[\[}}-0.6931472, -1000.6932, -0.6931472]]
  %8 = graph.log_softmax %far {axis = 1 : i64} : tensor<1x3xf32>

  %logp = graph.constant dense<[[-1.0, -2.0], [-3.0, -4.0], [-5.0, -6.0]]> : tensor<3x2xf32>
  %labels = graph.constant dense<[1, -100, 0]> : tensor<3xi64>
  %weights = graph.constant dense<[2.0, 0.5]> : tensor<2xf32>
  // CHECK: 9: tensor<3xf32> = [1, 0, 10]
  %9 = graph.nll_loss %logp, %labels, %weights {reduction = #graph<reduction none>, ignore_index = -100 : i64} : (tensor<3x2xf32>, tensor<3xi64>, tensor<2xf32>) -> tensor<3xf32>
  // CHECK: 10: tensor<f32> = 11
  %10 = graph.nll_loss %logp, %labels, %weights {reduction = #graph<reduction sum>, ignore_index = -100 : i64} : (tensor<3x2xf32>, tensor<3xi64>, tensor<2xf32>) -> tensor<f32>
  // The loss is 11 / (0.5 + 2).
  // CHECK: 11: tensor<f32> = 4.4
  %11 = graph.nll_loss %logp, %labels, %weights {reduction = #graph<reduction mean>, ignore_index = -100 : i64} : (tensor<3x2xf32>, tensor<3xi64>, tensor<2xf32>) -> tensor<f32>
  // The loss is -log(0.125).
  %zero = graph.constant dense<0> : tensor<1xi64>
  // CHECK: 12: tensor<f32> = 2.0794415
  %12 = graph.softmax_cross_entropy %l32, %zero {reduction = #graph<reduction mean>} : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<f32>

  // Philox4x32-10 of counter 0 and key 0 gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8, which are 0.399, 0.88, 0.74 and 0.61.
  %seed = graph.constant dense<0> : tensor<i64>
  %ones = graph.constant dense<1.0> : tensor<8xf32>
  // CHECK: 13: tensor<8xf32> = [0, 4, 0, 0,
  %13 = graph.dropout %ones, %seed, %seed {ratio = 0.75 : f64, salt = 0 : i64} : (tensor<8xf32>, tensor<i64>, tensor<i64>) -> tensor<8xf32>
  %two = graph.constant dense<1.0> : tensor<2xf32>
  // CHECK: 14: tensor<2xf32> = [0, 1.6666666]
  %14 = graph.dropout %two, %seed, %seed {ratio = 0.4 : f64, salt = 0 : i64} : (tensor<2xf32>, tensor<i64>, tensor<i64>) -> tensor<2xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14 : tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<4x1xf16>, tensor<4x1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<8xf32>, tensor<2xf32>
}

// The mean over no label is NaN and their sum is 0, as in torch 2.15.
func.func @nothing_counts() -> (tensor<f32>, tensor<f32>, tensor<2xf32>) {
  %x = graph.constant dense<[[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]]> : tensor<2x3xf32>
  %labels = graph.constant dense<-100> : tensor<2xi64>
  // NOTHING: 0: tensor<f32> = {{-?}}nan
  %0 = graph.softmax_cross_entropy %x, %labels {reduction = #graph<reduction mean>, ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
  // NOTHING-NEXT: 1: tensor<f32> = {{-?}}0{{$}}
  %1 = graph.softmax_cross_entropy %x, %labels {reduction = #graph<reduction sum>, ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<f32>
  // NOTHING-NEXT: 2: tensor<2xf32> = [{{-?}}0, {{-?}}0]
  %2 = graph.softmax_cross_entropy %x, %labels {reduction = #graph<reduction none>, ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<2xf32>
}

// These are the numbers of batch_norm and batch_norm_grad above, along a row and in two groups of one channel each.
func.func @rows() -> (tensor<1x4xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x4xf32>, tensor<f32>, tensor<f32>, tensor<1x2x4xf32>, tensor<1x2xf32>, tensor<1x2xf32>,
                      tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>) {
  %x = graph.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %scale = graph.constant dense<10.0> : tensor<f32>
  %bias = graph.constant dense<1.0> : tensor<f32>
  // ROWS: 0: tensor<1x4xf32> = {{\[\[}}-5, -1, 3, 7]]
  // ROWS-NEXT: 1: tensor<1x1xf32> = {{\[\[}}2.5]]
  // ROWS-NEXT: 2: tensor<1x1xf32> = {{\[\[}}0.4]]
  %0, %1, %2 = graph.layer_norm %x, %scale, %bias {axes = array<i64: 1>, epsilon = 5.0 : f64, kind = #graph<norm layer>} : (tensor<1x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<1x4xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
  %dy = graph.constant dense<[[0.0, 0.0, 0.0, 1.0]]> : tensor<1x4xf32>
  // ROWS-NEXT: 3: tensor<1x4xf32> = {{\[\[}}-0.64, -0.88, -1.12, 2.64]]
  // ROWS-NEXT: 4: tensor<f32> = 0.6
  // ROWS-NEXT: 5: tensor<f32> = 1
  %3, %4, %5 = graph.layer_norm_grad %x, %scale, %bias, %1, %2, %dy {axes = array<i64: 1>, epsilon = 5.0 : f64, kind = #graph<norm layer>} : (tensor<1x4xf32>, tensor<f32>, tensor<f32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<f32>, tensor<f32>)

  // The second channel has a scale of 0 and a mean of -2.5.
  %c = graph.constant dense<[[[1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, -3.0, -4.0]]]> : tensor<1x2x4xf32>
  %scales = graph.constant dense<[10.0, 0.0]> : tensor<2xf32>
  %biases = graph.constant dense<[1.0, 3.0]> : tensor<2xf32>
  // ROWS-NEXT: 6: tensor<1x2x4xf32> = {{\[\[\[}}-5, -1, 3, 7], [3, 3, 3, 3]]]
  // ROWS-NEXT: 7: tensor<1x2xf32> = {{\[\[}}2.5, -2.5]]
  // ROWS-NEXT: 8: tensor<1x2xf32> = {{\[\[}}0.4, 0.4]]
  %6, %7, %8 = graph.group_norm %c, %scales, %biases {epsilon = 5.0 : f64, axis = 1 : i64, groups = 2 : i64} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2x4xf32>, tensor<1x2xf32>, tensor<1x2xf32>)
  %dc = graph.constant dense<[[[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]]> : tensor<1x2x4xf32>
  // ROWS-NEXT: 9: tensor<1x2x4xf32> = {{\[\[\[}}-0.64, -0.88, -1.12, 2.64], [{{-?}}0, {{-?}}0, {{-?}}0, {{-?}}0]]]
  // ROWS-NEXT: 10: tensor<2xf32> = [0.6, -0.6]
  // ROWS-NEXT: 11: tensor<2xf32> = [1, 1]
  %9, %10, %11 = graph.group_norm_grad %c, %scales, %7, %8, %dc {epsilon = 5.0 : f64, axis = 1 : i64, groups = 2 : i64} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<1x4xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x4xf32>, tensor<f32>, tensor<f32>, tensor<1x2x4xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>
}
