// RUN: mpc-opt %s --mpc-emit-kernels --split-input-file --verify-diagnostics

func.func @composite(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %r = kernel.dispatch pointwise "softmax" (%x) : (tensor<4x10xf32>) -> (tensor<4x10xf32>) {
  ^bb0(%a: tensor<4x10xf32>):
    // expected-error @+2 {{'graph.softmax' op cannot be in a loop dispatch}}
    // expected-note @+1 {{hint: composite ops need mpc-decompose first; matmul and convolutions need a dispatch of the form contraction}}
    %0 = graph.softmax %a {axis = 1 : i64} : tensor<4x10xf32>
    kernel.yield %0 : tensor<4x10xf32>
  }
  return %r : tensor<4x10xf32>
}
