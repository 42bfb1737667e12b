// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels --split-input-file --verify-diagnostics

// Loops read a library's result from memory, so the dispatch has to return it.
func.func @kept(%x: tensor<20x40xf32>, %w: tensor<40x16xf32>) -> (tensor<16xf32>, tensor<20x16xf32>) {
  %0:2 = kernel.dispatch contraction "fc" (%x, %w) : (tensor<20x40xf32>, tensor<40x16xf32>) -> (tensor<16xf32>, tensor<20x16xf32>) {
  ^bb0(%0: tensor<20x40xf32>, %1: tensor<40x16xf32>):
    // expected-error@+2 {{on the host, loops read a library's result from memory, and this dispatch does not return it}}
    // expected-note@+1 {{add it to the results of the dispatch, or compute what follows it in another one}}
    %p = graph.matmul %0, %1 : (tensor<20x40xf32>, tensor<40x16xf32>) -> tensor<20x16xf32>
    %y = graph.relu %p : tensor<20x16xf32>
    %s = graph.reduce_sum %y {axes = array<i64: 0>, keepdims = false} : (tensor<20x16xf32>) -> tensor<16xf32>
    kernel.yield %s, %y : tensor<16xf32>, tensor<20x16xf32>
  }
  return %0#0, %0#1 : tensor<16xf32>, tensor<20x16xf32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
// A GPU's product sums columns, not rows.
func.func @rows(%x: tensor<20x40xf16>, %w: tensor<40x16xf16>) -> (tensor<20xf32>, tensor<20x16xf16>) {
  %0:2 = kernel.dispatch contraction "fc" (%x, %w) {schedule = #kernel.contraction<mma 64x64x32 stages=4>} : (tensor<20x40xf16>, tensor<40x16xf16>) -> (tensor<20xf32>, tensor<20x16xf16>) {
  ^bb0(%0: tensor<20x40xf16>, %1: tensor<40x16xf16>):
    %p = graph.matmul %0, %1 : (tensor<20x40xf16>, tensor<40x16xf16>) -> tensor<20x16xf16>
    %f = graph.cast %p : tensor<20x16xf16> to tensor<20x16xf32>
    // expected-error@+2 {{result 0 of this launch has neither an element for each element of the product nor is a sum over its rows}}
    // expected-note@+1 {{compute it in a dispatch of its own}}
    %s = graph.reduce_sum %f {axes = array<i64: 1>, keepdims = false} : (tensor<20x16xf32>) -> tensor<20xf32>
    kernel.yield %s, %p : tensor<20xf32>, tensor<20x16xf16>
  }
  return %0#0, %0#1 : tensor<20xf32>, tensor<20x16xf16>
}
}

// -----
// Libraries add no bias to f64, so the sum of product and bias is not theirs.
func.func @wide_bias(%x: tensor<20x40xf64>, %w: tensor<40x16xf64>, %b: tensor<16xf64>) -> tensor<20x16xf64> {
  %0 = kernel.dispatch contraction "fc" (%x, %w, %b) : (tensor<20x40xf64>, tensor<40x16xf64>, tensor<16xf64>) -> tensor<20x16xf64> {
  ^bb0(%0: tensor<20x40xf64>, %1: tensor<40x16xf64>, %2: tensor<16xf64>):
    // expected-error@+2 {{on the host, loops read a library's result from memory, and this dispatch does not return it}}
    // expected-note@+1 {{add it to the results of the dispatch, or compute what follows it in another one}}
    %p = graph.matmul %0, %1 : (tensor<20x40xf64>, tensor<40x16xf64>) -> tensor<20x16xf64>
    %y = graph.add %p, %2 : (tensor<20x16xf64>, tensor<16xf64>) -> tensor<20x16xf64>
    kernel.yield %y : tensor<20x16xf64>
  }
  return %0 : tensor<20x16xf64>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
// The last dimension of these pictures has one position, but is not the product's column, which is the channel.
func.func @pictures(%x: tensor<4x8x3x3xf16>, %w: tensor<16x8x3x3xf16>) -> (tensor<1xf32>, tensor<4x16x1x1xf16>) {
  %0:2 = kernel.dispatch contraction "conv" (%x, %w) {schedule = #kernel.contraction<mma 64x64x32 stages=4>} : (tensor<4x8x3x3xf16>, tensor<16x8x3x3xf16>) -> (tensor<1xf32>, tensor<4x16x1x1xf16>) {
  ^bb0(%0: tensor<4x8x3x3xf16>, %1: tensor<16x8x3x3xf16>):
    %p = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64, layout = #graph<layout channels_first>} : (tensor<4x8x3x3xf16>, tensor<16x8x3x3xf16>) -> tensor<4x16x1x1xf16>
    %f = graph.cast %p : tensor<4x16x1x1xf16> to tensor<4x16x1x1xf32>
    // expected-error@+2 {{result 0 of this launch has neither an element for each element of the product nor is a sum over its rows}}
    // expected-note@+1 {{compute it in a dispatch of its own}}
    %s = graph.reduce_sum %f {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<4x16x1x1xf32>) -> tensor<1xf32>
    kernel.yield %s, %p : tensor<1xf32>, tensor<4x16x1x1xf16>
  }
  return %0#0, %0#1 : tensor<1xf32>, tensor<4x16x1x1xf16>
}
}
