// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-form-dispatches --mpc-plan-loops --mpc-emit-kernels | FileCheck %s
// A thread that adds up many rows of its columns reads four of them side by side. One with few rows, or with much to compute for each, reads fewer.

// CHECK: #[[FOUR:.*]] = #llvm.loop_unroll<count = 4 : i32>
// CHECK: #[[BY_FOUR:.*]] = #llvm.loop_annotation<unroll = #[[FOUR]]>
// CHECK: llvm.func @k0(
// CHECK: llvm.loop_annotation = #[[BY_FOUR]]
func.func @many(%x: tensor<4096x64xf32>) -> tensor<64xf32> {
  %0 = graph.reduce_sum %x {axes = array<i64: 0>, keepdims = false} : (tensor<4096x64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// CHECK: llvm.func @k1(
// CHECK-NOT: llvm.loop_annotation
func.func @few(%x: tensor<16x64xf32>) -> tensor<64xf32> {
  %0 = graph.reduce_sum %x {axes = array<i64: 0>, keepdims = false} : (tensor<16x64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
