// RUN: mpc-interpret %s > %t.before
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-pad-columns=least-work=1 | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-pad-columns=least-work=1 | mpc-interpret - > %t.after
// RUN: diff %t.before %t.after

// A step of a classifier of 13 classes gives the same numbers to the last bit with 16: its loss, and the gradients of what it reads and of its weights. Two of the logits are infinite.
// CHECK: graph.pad
func.func @main() -> (tensor<f32>, tensor<6x8xbf16>, tensor<13x8xbf16>, tensor<13xf32>) {
  %i = graph.iota {axis = 1 : i64} : tensor<6x8xf32>
  %j = graph.iota {axis = 0 : i64} : tensor<6x8xf32>
  %ij = graph.mul %i, %j : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %sij = graph.sin %ij : tensor<6x8xf32>
  %x = graph.cast %sij : tensor<6x8xf32> to tensor<6x8xbf16>
  %k = graph.iota {axis = 1 : i64} : tensor<13x8xf32>
  %l = graph.iota {axis = 0 : i64} : tensor<13x8xf32>
  %kl = graph.add %k, %l : (tensor<13x8xf32>, tensor<13x8xf32>) -> tensor<13x8xf32>
  %ckl = graph.cos %kl : tensor<13x8xf32>
  %w = graph.cast %ckl : tensor<13x8xf32> to tensor<13x8xbf16>
  %bias = graph.constant dense<[0.5, -1.0, 2.0, 0.25, 0.0, 1.0, -0.5, 0xFF800000, 0.0, 0.0, 1.5, -2.0, 0.125]> : tensor<13xf32>
  %labels = graph.constant dense<[0, 12, 3, -100, 5, 9]> : tensor<6xi64>
  %y = graph.matmul %x, %w {transpose_b} : (tensor<6x8xbf16>, tensor<13x8xbf16>) -> tensor<6x13xbf16>
  %f = graph.cast %y : tensor<6x13xbf16> to tensor<6x13xf32>
  %logits = graph.add %f, %bias : (tensor<6x13xf32>, tensor<13xf32>) -> tensor<6x13xf32>
  %loss = graph.softmax_cross_entropy %logits, %labels {ignore_index = -100 : i64, reduction = #graph<reduction mean>} : (tensor<6x13xf32>, tensor<6xi64>) -> tensor<f32>
  %p = graph.softmax %logits {axis = 1 : i64} : tensor<6x13xf32>
  %class = graph.iota {axis = 1 : i64} : tensor<1x13xi64>
  %label = graph.reshape %labels : tensor<6xi64> to tensor<6x1xi64>
  %is = graph.compare eq %label, %class : (tensor<6x1xi64>, tensor<1x13xi64>) -> tensor<6x13xi1>
  %one = graph.cast %is : tensor<6x13xi1> to tensor<6x13xf32>
  %d = graph.sub %p, %one : (tensor<6x13xf32>, tensor<6x13xf32>) -> tensor<6x13xf32>
  %dy = graph.cast %d : tensor<6x13xf32> to tensor<6x13xbf16>
  %dx = graph.matmul %dy, %w : (tensor<6x13xbf16>, tensor<13x8xbf16>) -> tensor<6x8xbf16>
  %dw = graph.matmul %dy, %x {transpose_a} : (tensor<6x13xbf16>, tensor<6x8xbf16>) -> tensor<13x8xbf16>
  %db = graph.reduce_sum %d {axes = array<i64: 0>, keepdims = false} : (tensor<6x13xf32>) -> tensor<13xf32>
  return %loss, %dx, %dw, %db : tensor<f32>, tensor<6x8xbf16>, tensor<13x8xbf16>, tensor<13xf32>
}
