// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// These attributes say what a module is compiled for, by which schedule a product is computed, and how its kernels are launched. They print as they parse.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 256, state_bytes = 64, constant_bytes = 0, temporary_bytes = 128, peak_bytes = 192, saved_bytes = 64>, kernel.target = #kernel.target<"sm_90a">}
module attributes {kernel.plan = #kernel.plan<arena_bytes = 256, saved_bytes = 64, state_bytes = 64, constant_bytes = 0, temporary_bytes = 128, peak_bytes = 192>,
                   kernel.target = #kernel.target<"sm_90a">} {
  // CHECK: train.variable @w {{.*}}{kernel.offset = 0 : i64}
  train.variable @w buffer : tensor<4xf32> = #train.fill<0.5 : f64> {kernel.offset = 0 : i64}
  // CHECK: func.func private @placed(tensor<8xf32> {kernel.offset = 64 : i64}) -> (tensor<8xf32> {kernel.offset = 128 : i64})
  func.func private @placed(tensor<8xf32> {kernel.offset = 64 : i64}) -> (tensor<8xf32> {kernel.offset = 128 : i64})
  // CHECK: kernel.dispatch contraction "product"
  // CHECK-SAME: launches = [#kernel.launch<@kernels0::@k0 grid = 4, 1, 1 args = 0, 1, -1>, #kernel.launch<@kernels0::@k0_reduce grid = 2 args = -1, 2>]
  // CHECK-SAME: schedule = #kernel.contraction<wgmma 128x256x64 stages=4 pingpong=1 splits=2 cluster_m=2>
  func.func @f(%a: tensor<8x8xf16>, %b: tensor<8x8xf16>) -> tensor<8x8xf16> {
    %y = kernel.dispatch contraction "product" (%a, %b) {schedule = #kernel.contraction<wgmma 128x256x64 stages=4 splits=2 pingpong=1 cluster_m=2 cluster_n=1>,
        launches = [#kernel.launch<@kernels0::@k0 grid = 4, 1, 1 grain = 1 args = 0, 1, -1>, #kernel.launch<@kernels0::@k0_reduce grid = 2 args = -1, 2>],
        scratch_bytes = 512 : i64} : (tensor<8x8xf16>, tensor<8x8xf16>) -> (tensor<8x8xf16>) {
    ^bb0(%0: tensor<8x8xf16>, %1: tensor<8x8xf16>):
      %h = graph.matmul %0, %1 : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
      kernel.yield %h : tensor<8x8xf16>
    }
    return %y : tensor<8x8xf16>
  }
  // CHECK: kernel.dispatch pointwise "loop"{{.*}}grain = 7{{.*}}may_reuse = [array<i64: 0, 1>]
  func.func @g(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
    %y = kernel.dispatch pointwise "loop" (%a, %b) {may_reuse = [array<i64: 0, 1>], launches = [#kernel.launch<@kernels0::@k1 grid = 3, 1, 1 grain = 7 args = 0, 1, 2>]} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>) {
    ^bb0(%0: tensor<8xf32>, %1: tensor<8xf32>):
      %h = graph.add %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      kernel.yield %h : tensor<8xf32>
    }
    return %y : tensor<8xf32>
  }
  // CHECK: module @kernels0 attributes {kernel.target = #kernel.target<"sm_90a">}
  module @kernels0 attributes {kernel.target = #kernel.target<"sm_90a">} {
    // CHECK: kernel.entry = #kernel.entry<threads = 384, resident = 1, cluster = 2, min_blocks = 1, maps = [#{{.*}}]>
    llvm.func @k0(!llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 384, min_blocks = 1, resident = 1, cluster = 2,
        maps = [#kernel.tensor_map<0 : f16 sizes [64, 64] strides [128] box [64, 8] steps [1, 1] b128>]>}
    // CHECK: kernel.entry = #kernel.entry<threads = 256>
    llvm.func @k0_reduce(!llvm.ptr<1>, !llvm.ptr<1>) attributes {kernel.entry = #kernel.entry<threads = 256>}
    llvm.func @k1(!llvm.ptr, i64, i64)
  }
}
