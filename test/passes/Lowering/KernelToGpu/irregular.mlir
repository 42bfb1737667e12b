// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch "axes"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 1, 1, 1 args = 0, 1, 2>]

// Reductions over different axes share no space: one thread walks through each of them.
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 32
// CHECK-NOT: kernel.shuffle
// CHECK: scf.if
// CHECK: scf.for {{.*}} to %c10_i64
// CHECK: scf.for {{.*}} to %c30_i64 {{.*}} iter_args
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK: scf.for {{.*}} to %c30_i64
// CHECK: scf.for {{.*}} to %c10_i64 {{.*}} iter_args
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: kernel.
// CHECK: llvm.return
func.func @axes(%x: tensor<10x30xf32>) -> (tensor<10xf32>, tensor<30xf32>) {
  %r:2 = kernel.dispatch "axes" (%x) : (tensor<10x30xf32>) -> (tensor<10xf32>, tensor<30xf32>) {
  ^bb0(%a: tensor<10x30xf32>):
    %0 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<10x30xf32>) -> tensor<10xf32>
    %1 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<10x30xf32>) -> tensor<30xf32>
    kernel.yield %0, %1 : tensor<10xf32>, tensor<30xf32>
  }
  return %r#0, %r#1 : tensor<10xf32>, tensor<30xf32>
}
