// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// Of a table with 1000 rows a block owns one, and each of 128 threads a column of it, whose sum it keeps in shared memory. All threads look for the row among 1024 indices: sums of their
// hits over lanes and warps give each hit its place in a list, so that the order of the list is the order of the indices. Eight updates are loaded before the first is added.
// CHECK: kernel.dispatch scatter "scatter"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 1000, 1, 1 args = 0, 1, 2>]
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 256
// CHECK-DAG: %[[SUMS:.*]] = kernel.shared 512
// CHECK-DAG: %[[LIST:.*]] = kernel.shared 4096
// CHECK-DAG: kernel.shared 32
// CHECK: scf.for {{.*}} to %c2000_i32 step %c1024_i32
// CHECK-COUNT-4: llvm.load {{.*}} : !llvm.ptr<1> -> i32
// CHECK-COUNT-5: kernel.shuffle up
// CHECK: kernel.barrier
// CHECK-COUNT-4: llvm.store {{.*}} : i32, !llvm.ptr<3>
// CHECK: kernel.barrier
// CHECK: scf.for {{.*}} step %c8_i32
// CHECK-COUNT-8: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: arith.addf
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: kernel.barrier
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: llvm.atomicrmw
// CHECK: llvm.return
func.func @scatter(%dy: tensor<2000x128xf32>, %i: tensor<2000xi32>) -> tensor<1000x128xf32> {
  %r = kernel.dispatch scatter "scatter" (%dy, %i) : (tensor<2000x128xf32>, tensor<2000xi32>) -> (tensor<1000x128xf32>) {
  ^bb0(%a: tensor<2000x128xf32>, %b: tensor<2000xi32>):
    %0 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<2000x128xf32>, tensor<2000xi32>) -> tensor<1000x128xf32>
    kernel.yield %0 : tensor<1000x128xf32>
  }
  return %r : tensor<1000x128xf32>
}
