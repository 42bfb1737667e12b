// RUN: mpc-opt %s --cse --canonicalize --mpc-form-dispatches --mpc-find-reuse --mpc-plan-arena --mpc-verify-arena --split-input-file | FileCheck %s

// The exponential is computed again after the gradient. Neither CSE nor fusion makes one of the two, and the barrier, a view, takes no launch: the second one reads the argument's place.
// CHECK-LABEL: func.func @recompute
// CHECK-SAME: (%[[X:.*]]: tensor<64xf32> {kernel.offset = [[X_AT:[0-9]+]] : i64}
// CHECK: %[[DY:.*]] = kernel.dispatch reduction "exp+reduce_sum"{{.*}}args = array<i64: [[X_AT]], {{[0-9]+}}>
// CHECK: %[[AGAIN:.*]] = graph.barrier %[[X]] after(%[[DY]] : tensor<1xf32>) {number = 1 : i64} : tensor<64xf32>
// CHECK: kernel.dispatch pointwise "exp+mul"(%[[AGAIN]], %[[DY]]) {args = array<i64: [[X_AT]],
func.func @recompute(%x: tensor<64xf32>) -> (tensor<1xf32>, tensor<64xf32>) {
  %0 = graph.exp %x : tensor<64xf32>
  %dy = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = true} : (tensor<64xf32>) -> tensor<1xf32>
  %again = graph.barrier %x after(%dy : tensor<1xf32>) {number = 1 : i64} : tensor<64xf32>
  %1 = graph.exp %again : tensor<64xf32>
  %2 = graph.mul %1, %dy : (tensor<64xf32>, tensor<1xf32>) -> tensor<64xf32>
  return %dy, %2 : tensor<1xf32>, tensor<64xf32>
}

// -----
// What a launch waits for is not merged with it.
// CHECK-LABEL: func.func @waits
// CHECK: kernel.dispatch pointwise "exp"
// CHECK: graph.barrier
// CHECK: kernel.dispatch pointwise "tanh"
func.func @waits(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = graph.exp %x : tensor<64xf32>
  %1 = graph.barrier %x after(%0 : tensor<64xf32>) {number = 1 : i64} : tensor<64xf32>
  %2 = graph.tanh %1 : tensor<64xf32>
  return %0, %2 : tensor<64xf32>, tensor<64xf32>
}
