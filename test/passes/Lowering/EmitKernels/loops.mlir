// RUN: mpc-opt %s --mpc-emit-kernels | FileCheck %s

// Emission makes the loops that stand there, also where mpc-plan-loops would choose others, so equal bodies with other loops are other kernels.
// CHECK: kernel.dispatch reduction "rows"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 64, 1, 1
// CHECK: kernel.dispatch reduction "columns"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 2, 1, 1
// CHECK: kernel.dispatch reduction "rows again"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 64, 1, 1

// A sum stays in a register while one row is added up.
// CHECK-LABEL: llvm.func @k0(
// CHECK-NOT: llvm.alloca
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args

// The sums of 32 columns are in memory.
// CHECK-LABEL: llvm.func @k1(
// CHECK: llvm.alloca
// CHECK-NOT: iter_args
func.func @sums(%x: tensor<128x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %0 = kernel.dispatch reduction "rows" (%x) {loops = #kernel.loops<rows 128x64 order = [1, 0] parallel = 1>} : (tensor<128x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<128x64xf32>):
    %s = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<128x64xf32>) -> tensor<64xf32>
    kernel.yield %s : tensor<64xf32>
  }
  %1 = kernel.dispatch reduction "columns" (%x) {loops = #kernel.loops<columns 128x64 order = [0, 1 by 32]>} : (tensor<128x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<128x64xf32>):
    %s = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<128x64xf32>) -> tensor<64xf32>
    kernel.yield %s : tensor<64xf32>
  }
  %2 = kernel.dispatch reduction "rows again" (%x) {loops = #kernel.loops<rows 128x64 order = [1, 0] parallel = 1>} : (tensor<128x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<128x64xf32>):
    %s = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<128x64xf32>) -> tensor<64xf32>
    kernel.yield %s : tensor<64xf32>
  }
  return %0, %1, %2 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
