// RUN: mpc-interpret %s > %t.before
// RUN: mpc-opt %s --mpc-set-target=name=host --mpc-transpose-invariants=least-elements=1 | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=host --mpc-transpose-invariants=least-elements=1 | mpc-interpret - > %t.after
// RUN: diff %t.before %t.after

// A recurrence backward in time and another forward, which share their weights, give the same numbers to the last bit.
// CHECK: graph.transpose
// CHECK: graph.matmul {{.*}} {transpose_b}
// CHECK: graph.transpose
// CHECK: graph.matmul {{.*}} {transpose_b}
func.func @main() -> (tensor<32x5xf32>, tensor<32x5xf32>, tensor<8x32x5xf32>) {
  %i = graph.iota {axis = 1 : i64} : tensor<5x5xf32>
  %j = graph.iota {axis = 0 : i64} : tensor<5x5xf32>
  %ij = graph.mul %i, %j : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %sij = graph.add %ij, %j : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %w = graph.sin %sij : tensor<5x5xf32>
  %k = graph.iota {axis = 0 : i64} : tensor<32x5xf32>
  %h = graph.cos %k : tensor<32x5xf32>
  %l = graph.iota {axis = 2 : i64} : tensor<8x32x5xf32>
  %x = graph.sin %l : tensor<8x32x5xf32>
  %last = graph.scan 8 carry(%h : tensor<32x5xf32>) with(%w : tensor<5x5xf32>) over(%x : tensor<8x32x5xf32>) -> (tensor<32x5xf32>) {
  ^bb0(%s: tensor<32x5xf32>, %wb: tensor<5x5xf32>, %xt: tensor<32x5xf32>):
    %0 = graph.matmul %s, %wb : (tensor<32x5xf32>, tensor<5x5xf32>) -> tensor<32x5xf32>
    %1 = graph.add %0, %xt : (tensor<32x5xf32>, tensor<32x5xf32>) -> tensor<32x5xf32>
    %2 = graph.tanh %1 : tensor<32x5xf32>
    graph.scan_yield %2 : tensor<32x5xf32>
  }
  %first, %all = graph.scan 8 reverse carry(%h : tensor<32x5xf32>) with(%w : tensor<5x5xf32>) over(%x : tensor<8x32x5xf32>) -> (tensor<32x5xf32>) stack(tensor<8x32x5xf32>) {
  ^bb0(%s: tensor<32x5xf32>, %wb: tensor<5x5xf32>, %xt: tensor<32x5xf32>):
    %0 = graph.matmul %xt, %wb : (tensor<32x5xf32>, tensor<5x5xf32>) -> tensor<32x5xf32>
    %1 = graph.mul %0, %s : (tensor<32x5xf32>, tensor<32x5xf32>) -> tensor<32x5xf32>
    %2 = graph.tanh %1 : tensor<32x5xf32>
    graph.scan_yield %2, %1 : tensor<32x5xf32>, tensor<32x5xf32>
  }
  return %last, %first, %all : tensor<32x5xf32>, tensor<32x5xf32>, tensor<8x32x5xf32>
}
