// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels --split-input-file --verify-diagnostics

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

// -----

// A module without a target is compiled for the host.
func.func @gpu_form(%x: tensor<8x4xf16>) -> (tensor<8x4xf16>, tensor<4x8xf16>) {
  // expected-error @+2 {{this dispatch has the form transposed_copy, which only GPUs have}}
  // expected-note @+1 {{hint: set the target of its module, or state the form pointwise}}
  %r:2 = kernel.dispatch transposed_copy "both" (%x) : (tensor<8x4xf16>) -> (tensor<8x4xf16>, tensor<4x8xf16>) {
  ^bb0(%a: tensor<8x4xf16>):
    %0 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x4xf16>) -> tensor<4x8xf16>
    kernel.yield %a, %0 : tensor<8x4xf16>, tensor<4x8xf16>
  }
  return %r#0, %r#1 : tensor<8x4xf16>, tensor<4x8xf16>
}
