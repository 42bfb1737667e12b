// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s

// The result is set to zero, and then values are added in the order of the indices. The grid is over blocks of 64 columns.
// CHECK: kernel.dispatch scatter "scatter"{{.*}}grid = 2, 1, 1
func.func @scatter(%dy: tensor<50x128xf32>, %i: tensor<50xi32>) -> tensor<1000x128xf32> {
  %r = kernel.dispatch scatter "scatter" (%dy, %i) : (tensor<50x128xf32>, tensor<50xi32>) -> (tensor<1000x128xf32>) {
  ^bb0(%a: tensor<50x128xf32>, %b: tensor<50xi32>):
    %0 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<50x128xf32>, tensor<50xi32>) -> tensor<1000x128xf32>
    kernel.yield %0 : tensor<1000x128xf32>
  }
  return %r : tensor<1000x128xf32>
}

// CHECK-LABEL: llvm.func @k0
// CHECK: scf.for {{.*}} = %arg1 to %arg2
// CHECK: scf.for {{.*}} = %c0_i64 to %c1000_i64
// CHECK: llvm.store %cst
// CHECK: scf.for {{.*}} = %c0_i64 to %c50_i64
// CHECK: arith.addf
// CHECK: llvm.store
