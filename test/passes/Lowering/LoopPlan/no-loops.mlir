// RUN: mpc-opt %s --mpc-emit-kernels --verify-diagnostics

// Emission makes the loops that a dispatch has, and chooses none itself.
func.func @none(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{dispatch 'exp' has no loops}}
  // expected-note @+1 {{hint: run mpc-plan-loops first}}
  %0 = kernel.dispatch pointwise "exp" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.exp %a : tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
