// RUN: mpc-opt %s --mpc-plan-arena --cse --canonicalize --mpc-verify-arena | FileCheck %s

// A planned dispatch reads and writes the arena. So no later pass drops the one that nobody reads, or merges the two that compute the same: the second result may lie where the first
// one has been overwritten.
// CHECK-LABEL: func.func @f
// CHECK: kernel.dispatch pointwise "exp"
// CHECK: kernel.dispatch pointwise "tanh"
// CHECK: kernel.dispatch pointwise "unread"
// CHECK: kernel.dispatch pointwise "exp"
// CHECK: kernel.dispatch pointwise "relu"
func.func @f(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = kernel.dispatch pointwise "exp" (%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.exp %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  %1 = kernel.dispatch pointwise "tanh" (%0) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.tanh %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  %2 = kernel.dispatch pointwise "unread" (%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.tanh %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  %3 = kernel.dispatch pointwise "exp" (%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.exp %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  %4 = kernel.dispatch pointwise "relu" (%3) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.relu %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  return %1, %4 : tensor<16xf32>, tensor<16xf32>
}
