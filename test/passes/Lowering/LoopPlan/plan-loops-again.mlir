// RUN: mpc-opt %s --mpc-plan-loops | FileCheck %s

// What was decided before, by whomever, is decided again.
// CHECK: kernel.dispatch reduction "columns"{{.*}}loops = #kernel.loops<columns 512x64 order = [0 by 32, 1 by 32]>
func.func @columns(%x: tensor<512x64xf32>) -> tensor<64xf32> {
  %0 = kernel.dispatch reduction "columns" (%x) {loops = #kernel.loops<rows 512x64 order = [1, 0] parallel = 1>} : (tensor<512x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<512x64xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<512x64xf32>) -> tensor<64xf32>
    kernel.yield %1 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}
