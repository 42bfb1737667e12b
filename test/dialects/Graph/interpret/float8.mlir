// RUN: mpc-interpret %s | FileCheck %s
// Products of 8-bit floats are exact and are rounded once to the result's type. Casts saturate, infinities too, and NaN stays.

func.func @main() -> (tensor<2x2xf32>, tensor<2x2xbf16>, tensor<6xf8E4M3FN>, tensor<6xf8E5M2>, tensor<3x2xf8E4M3FN>) {
  %a = graph.constant dense<[[1.0, 2.0, 0.5], [448.0, -0.001953125, 3.0]]> : tensor<2x3xf8E4M3FN>
  %b = graph.constant dense<[[57344.0, 1.0, 0.25], [1.5, -2.0, 0.0]]> : tensor<2x3xf8E5M2>
  // CHECK: 0: tensor<2x2xf32> = {{\[\[}}57346.125, -2.5], [25690112, 672.0039]]
  %0 = graph.matmul %a, %b {transpose_b} : (tensor<2x3xf8E4M3FN>, tensor<2x3xf8E5M2>) -> tensor<2x2xf32>
  // CHECK: 1: tensor<2x2xbf16> = {{\[\[}}57344, -2.5], [25690112, 672]]
  %1 = graph.matmul %a, %b {transpose_b} : (tensor<2x3xf8E4M3FN>, tensor<2x3xf8E5M2>) -> tensor<2x2xbf16>
  %x = graph.constant dense<[17.0, 19.0, 464.0, -1.0e9, 0x7F800000, 0x7FC00000]> : tensor<6xf32>
  // CHECK: 2: tensor<6xf8E4M3FN> = [16, 20, 448, -448, 448, nan]
  %2 = graph.cast %x : tensor<6xf32> to tensor<6xf8E4M3FN>
  // CHECK: 3: tensor<6xf8E5M2> = [16, 20, 448, -57344, 57344, nan]
  %3 = graph.cast %x : tensor<6xf32> to tensor<6xf8E5M2>
  // CHECK: 4: tensor<3x2xf8E4M3FN> = {{\[\[}}1, 448], [2, -0.001953125], [0.5, 3]]
  %4 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x3xf8E4M3FN>) -> tensor<3x2xf8E4M3FN>
  return %0, %1, %2, %3, %4 : tensor<2x2xf32>, tensor<2x2xbf16>, tensor<6xf8E4M3FN>, tensor<6xf8E5M2>, tensor<3x2xf8E4M3FN>
}
