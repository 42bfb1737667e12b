// RUN: mpc-interpret %s | FileCheck %s
// RUN: mpc-interpret %s --entry=more | FileCheck %s --check-prefix=MORE
// This file has data movement and reductions.

func.func @main() -> (tensor<3x2xi64>, tensor<3x2xf32>, tensor<2x2x3xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<4x6xf32>, tensor<1x1xf32>, tensor<2x2xf32>, tensor<2x3xf32>,
                      tensor<3xf32>, tensor<2x1xf32>, tensor<f32>, tensor<2xf32>, tensor<2xi64>, tensor<3xi64>, tensor<i1>) {
  %x = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  // CHECK: 0: tensor<3x2xi64> = {{\[\[}}0, 0], [1, 1], [2, 2]]
  %0 = graph.iota {axis = 0 : i64} : tensor<3x2xi64>
  // CHECK: 1: tensor<3x2xf32> = {{\[\[}}1, 4], [2, 5], [3, 6]]
  %1 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: 2: tensor<2x2x3xf32> = {{\[\[\[}}1, 2, 3], [4, 5, 6]], {{\[\[}}1, 2, 3], [4, 5, 6]]]
  %2 = graph.broadcast %x : tensor<2x3xf32> to tensor<2x2x3xf32>
  %column = graph.constant dense<[[7.0], [8.0]]> : tensor<2x1xf32>
  // CHECK: 3: tensor<2x4xf32> = {{\[\[}}1, 2, 3, 7], [4, 5, 6, 8]]
  %3 = graph.concat %x, %column {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  // CHECK: 4: tensor<2x2xf32> = {{\[\[}}6, 4], [3, 1]]
  %4 = graph.slice %x {starts = array<i64: 1, 2>, sizes = array<i64: 2, 2>, strides = array<i64: -1, -2>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: 5: tensor<4x6xf32> = {{\[\[}}9, 9, 9, 9, 9, 9], [1, 9, 2, 9, 3, 9], [9, 9, 9, 9, 9, 9], [4, 9, 5, 9, 6, 9]]
  %5 = graph.pad %x {value = 9.0 : f64, low = array<i64: 1, 0>, high = array<i64: 0, 1>, interior = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<4x6xf32>
  // Negative padding crops.
  // CHECK: 6: tensor<1x1xf32> = {{\[\[}}5]]
  %6 = graph.pad %x {value = 0.0 : f64, low = array<i64: -1, -1>, high = array<i64: 0, -1>, interior = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %i = graph.constant dense<[-1, 0]> : tensor<2xi64>
  // CHECK: 7: tensor<2x2xf32> = {{\[\[}}3, 1], [6, 4]]
  %7 = graph.gather %x, %i {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %twice = graph.constant dense<[1, 1]> : tensor<2xi64>
  // CHECK: 8: tensor<2x3xf32> = {{\[\[}}0, 4, 0], [0, 10, 0]]
  %8 = graph.scatter %7, %twice {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  // CHECK: 9: tensor<3xf32> = [5, 7, 9]
  %9 = graph.reduce_sum %x {axes = array<i64: 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<3xf32>
  // CHECK: 10: tensor<2x1xf32> = {{\[\[}}2], [5]]
  %10 = graph.reduce_mean %x {axes = array<i64: 1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  // CHECK: 11: tensor<f32> = 720
  %11 = graph.reduce_prod %x {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  // CHECK: 12: tensor<2xf32> = [3, 6]
  %12 = graph.reduce_max %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  %ties = graph.constant dense<[[1.0, 5.0, 5.0], [0.0, 0.0, -1.0]]> : tensor<2x3xf32>
  // CHECK: 13: tensor<2xi64> = [1, 0]
  %13 = graph.argmax %ties {axis = 1 : i64, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xi64>
  // CHECK: 14: tensor<3xi64> = [1, 1, 1]
  %14 = graph.argmax %ties {axis = 0 : i64, keepdims = false, min, last} : (tensor<2x3xf32>) -> tensor<3xi64>
  %flags = graph.constant dense<[false, true]> : tensor<2xi1>
  // CHECK: 15: tensor<i1> = 1
  %15 = graph.reduce_any %flags {axes = array<i64: 0>, keepdims = false} : (tensor<2xi1>) -> tensor<i1>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15 : tensor<3x2xi64>, tensor<3x2xf32>, tensor<2x2x3xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<4x6xf32>, tensor<1x1xf32>, tensor<2x2xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<f32>, tensor<2xf32>, tensor<2xi64>, tensor<3xi64>, tensor<i1>
}

func.func @more() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %x = graph.constant dense<[[3.0, -4.0], [0.0, 0.0]]> : tensor<2x2xf32>
  // MORE: 0: tensor<2xf32> = [5, 0]
  %0 = graph.reduce_l2 %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  // MORE-NEXT: 1: tensor<2xf32> = [-4, 0]
  %1 = graph.reduce_min %x {axes = array<i64: 1>, keepdims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  // A barrier gives the first operand.
  // MORE-NEXT: 2: tensor<2xf32> = [-4, 0]
  %2 = graph.barrier %1 after(%0 : tensor<2xf32>) {number = 1 : i64} : tensor<2xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
