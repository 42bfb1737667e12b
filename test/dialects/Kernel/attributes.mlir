// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// These attributes say what a module is compiled for, by which schedule a product is computed, and how its kernels are launched. They print as they parse.
// CHECK: module attributes {kernel.target = #kernel.target<"sm_90a">}
module attributes {kernel.target = #kernel.target<"sm_90a">} {
  // CHECK: kernel.dispatch "product"
  // CHECK-SAME: launches = [#kernel.launch<@kernels0::@k0 grid = 4, 1, 1 args = 0, 1, -1>, #kernel.launch<@kernels0::@k0_reduce grid = 2 args = -1, 2>]
  // CHECK-SAME: schedule = #kernel.contraction<wgmma 128x256x64 stages=4 pingpong=1 splits=2 cluster_m=2>
  func.func @f(%a: tensor<8x8xf16>, %b: tensor<8x8xf16>) -> tensor<8x8xf16> {
    %y = kernel.dispatch "product" (%a, %b) {library, schedule = #kernel.contraction<wgmma 128x256x64 stages=4 splits=2 pingpong=1 cluster_m=2 cluster_n=1>,
        launches = [#kernel.launch<@kernels0::@k0 grid = 4, 1, 1 grain = 1 args = 0, 1, -1>, #kernel.launch<@kernels0::@k0_reduce grid = 2 args = -1, 2>],
        scratch_bytes = 512 : i64} : (tensor<8x8xf16>, tensor<8x8xf16>) -> (tensor<8x8xf16>) {
    ^bb0(%0: tensor<8x8xf16>, %1: tensor<8x8xf16>):
      %h = graph.matmul %0, %1 : (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf16>
      kernel.yield %h : tensor<8x8xf16>
    }
    return %y : tensor<8x8xf16>
  }
  // CHECK: kernel.dispatch "loop"{{.*}}grain = 7{{.*}}may_reuse = [array<i64: 0, 1>]
  func.func @g(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
    %y = kernel.dispatch "loop" (%a, %b) {may_reuse = [array<i64: 0, 1>], launches = [#kernel.launch<@kernels0::@k1 grid = 3, 1, 1 grain = 7 args = 0, 1, 2>]} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>) {
    ^bb0(%0: tensor<8xf32>, %1: tensor<8xf32>):
      %h = graph.add %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      kernel.yield %h : tensor<8xf32>
    }
    return %y : tensor<8xf32>
  }
  module @kernels0 {
    llvm.func @k0(!llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<1>)
    llvm.func @k0_reduce(!llvm.ptr<1>, !llvm.ptr<1>)
    llvm.func @k1(!llvm.ptr, i64, i64)
  }
}
