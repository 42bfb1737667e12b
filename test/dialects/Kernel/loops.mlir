// RUN: mpc-opt %s --split-input-file | mpc-opt --split-input-file | FileCheck %s

// The loops of a dispatch print as they parse.
func.func @host(%x: tensor<64x32xf32>, %y: tensor<64x8xf32>) -> (tensor<32xf32>, tensor<64x40xf32>, tensor<f32>) {
  // CHECK: kernel.dispatch reduction "sum"{{.*}} {loops = #kernel.loops<columns 64x32 order = [0 by 16, 1 by 8]>}
  %0 = kernel.dispatch reduction "sum" (%x) {loops = #kernel.loops<columns 64x32 order = [0 by 16, 1 by 8] parallel = 0 vector = 1>} : (tensor<64x32xf32>) -> tensor<32xf32> {
  ^bb0(%a: tensor<64x32xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<64x32xf32>) -> tensor<32xf32>
    kernel.yield %1 : tensor<32xf32>
  }
  // CHECK: kernel.dispatch pointwise "concat"{{.*}} {loops = #kernel.loops<points 64x40 order = [0, 1] parallel = 1 cuts = [32]>}
  %2 = kernel.dispatch pointwise "concat" (%x, %y) {loops = #kernel.loops<points 64x40 order = [0, 1] parallel = 1 cuts = [32]>} : (tensor<64x32xf32>, tensor<64x8xf32>) -> tensor<64x40xf32> {
  ^bb0(%a: tensor<64x32xf32>, %b: tensor<64x8xf32>):
    %1 = graph.concat %a, %b {axis = 1 : i64} : (tensor<64x32xf32>, tensor<64x8xf32>) -> tensor<64x40xf32>
    kernel.yield %1 : tensor<64x40xf32>
  }
  // A space of one point has no loops.
  // CHECK: kernel.dispatch pointwise "number"() {loops = #kernel.loops<points order = []>}
  %3 = kernel.dispatch pointwise "number" () {loops = #kernel.loops<points order = []>} : () -> tensor<f32> {
    %1 = graph.constant dense<1.0> : tensor<f32>
    kernel.yield %1 : tensor<f32>
  }
  return %0, %2, %3 : tensor<32xf32>, tensor<64x40xf32>, tensor<f32>
}

// -----
module attributes {kernel.target = #kernel.target<"sm_80">} {
  func.func @gpu(%x: tensor<64x32xf32>) -> (tensor<64xf32>, tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x32xf32>) {
    // CHECK: kernel.dispatch row "norm"{{.*}} {loops = #kernel.loops<rows 64x32 order = [0, 1] parallel = 1 vector = 4 threads = 4x32 unroll>}
    %0:2 = kernel.dispatch row "norm" (%x) {loops = #kernel.loops<rows 64x32 order = [0, 1] parallel = 1 vector = 4 threads = 4x32 unroll>} : (tensor<64x32xf32>) -> (tensor<64xf32>, tensor<64x32xf32>) {
    ^bb0(%a: tensor<64x32xf32>):
      %1 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = true} : (tensor<64x32xf32>) -> tensor<64x1xf32>
      %2 = graph.div %a, %1 : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
      %3 = graph.reshape %1 : tensor<64x1xf32> to tensor<64xf32>
      kernel.yield %3, %2 : tensor<64xf32>, tensor<64x32xf32>
    }
    // CHECK: kernel.dispatch transposed_copy "copies"{{.*}} {loops = #kernel.loops<copies 1x64x32 order = [0, 1 by 64, 2 by 64] parallel = 1 threads = 1x256>}
    %4:2 = kernel.dispatch transposed_copy "copies" (%x) {loops = #kernel.loops<copies 1x64x32 order = [0, 1 by 64, 2 by 64] parallel = 1 threads = 1x256>} : (tensor<64x32xf32>) -> (tensor<32x64xf32>, tensor<64x32xf32>) {
    ^bb0(%a: tensor<64x32xf32>):
      %1 = graph.exp %a : tensor<64x32xf32>
      %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
      kernel.yield %2, %1 : tensor<32x64xf32>, tensor<64x32xf32>
    }
    return %0#0, %0#1, %4#0, %4#1 : tensor<64xf32>, tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x32xf32>
  }
}
