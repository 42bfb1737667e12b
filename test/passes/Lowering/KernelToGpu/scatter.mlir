// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// Of a table with 1000 rows a block owns one, and each of its threads a column of it, whose sum it keeps in shared memory. The lanes of a warp read 32 indices together; if one
// of them names the block's row, the warp walks through the 32 in order, so that the order of the sum is the order of the indices.
// CHECK: kernel.dispatch scatter "scatter"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 1000, 1, 1 args = 0, 1, 2>]
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 128
// CHECK: kernel.shared 512
// CHECK: llvm.store %cst, %{{.*}} : f32, !llvm.ptr<3>
// CHECK: scf.for {{.*}} to %c500_i32 step %c32_i32
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> i32
// CHECK: %[[ANY:.*]] = kernel.vote any
// CHECK-NEXT: scf.if %[[ANY]]
// CHECK: scf.for {{.*}} to %c32_i32 step %c1_i32
// CHECK: kernel.shuffle index
// CHECK: scf.if
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: arith.addf
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: llvm.atomicrmw
// CHECK: llvm.return
func.func @scatter(%dy: tensor<500x128xf32>, %i: tensor<500xi32>) -> tensor<1000x128xf32> {
  %r = kernel.dispatch scatter "scatter" (%dy, %i) : (tensor<500x128xf32>, tensor<500xi32>) -> (tensor<1000x128xf32>) {
  ^bb0(%a: tensor<500x128xf32>, %b: tensor<500xi32>):
    %0 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<500x128xf32>, tensor<500xi32>) -> tensor<1000x128xf32>
    kernel.yield %0 : tensor<1000x128xf32>
  }
  return %r : tensor<1000x128xf32>
}
