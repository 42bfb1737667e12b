// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s

// The result is set to zero, and then values are added in the order of the indices. The grid is over blocks of 64 columns.
// CHECK: kernel.dispatch scatter "scatter"{{.*}}grid = 2, 1, 1
func.func @scatter(%dy: tensor<50x128xf32>, %i: tensor<50xi32>) -> tensor<1000x128xf32> {
  %r = kernel.dispatch scatter "scatter" (%dy, %i) : (tensor<50x128xf32>, tensor<50xi32>) -> (tensor<1000x128xf32>) {
  ^bb0(%a: tensor<50x128xf32>, %b: tensor<50xi32>):
    %0 = graph.gather_grad %a, %b {axis = 0 : i64} : (tensor<50x128xf32>, tensor<50xi32>) -> tensor<1000x128xf32>
    kernel.yield %0 : tensor<1000x128xf32>
  }
  return %r : tensor<1000x128xf32>
}

// A transpose walks tiles of 16 x 16, so that every cache line that it touches is used whole.
// CHECK: kernel.dispatch pointwise "transpose"{{.*}}grid = 12, 1, 1
func.func @transpose(%x: tensor<64x48xf32>) -> tensor<48x64xf32> {
  %r = kernel.dispatch pointwise "transpose" (%x) : (tensor<64x48xf32>) -> (tensor<48x64xf32>) {
  ^bb0(%a: tensor<64x48xf32>):
    %0 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<64x48xf32>) -> tensor<48x64xf32>
    kernel.yield %0 : tensor<48x64xf32>
  }
  return %r : tensor<48x64xf32>
}

// Four neighbours share the words of one Philox block, so that an iteration takes ten rounds and not forty.
func.func @dropout(%x: tensor<4096xf32>, %s: tensor<i64>) -> tensor<4096xf32> {
  %r = kernel.dispatch pointwise "dropout" (%x, %s) : (tensor<4096xf32>, tensor<i64>) -> (tensor<4096xf32>) {
  ^bb0(%a: tensor<4096xf32>, %b: tensor<i64>):
    %0 = graph.dropout %a, %b, %b {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<4096xf32>, tensor<i64>, tensor<i64>) -> tensor<4096xf32>
    kernel.yield %0 : tensor<4096xf32>
  }
  return %r : tensor<4096xf32>
}

// CHECK-LABEL: llvm.func @k0
// CHECK: scf.for {{.*}} = %arg1 to %arg2
// CHECK: scf.for {{.*}} = %c0_i64 to %c1000_i64
// CHECK: llvm.store %cst
// CHECK: scf.for {{.*}} = %c0_i64 to %c50_i64
// CHECK: arith.addf
// CHECK: llvm.store

// CHECK-LABEL: llvm.func @k1
// CHECK: scf.for {{.*}} = %arg1 to %arg2
// CHECK: arith.remui %{{.*}}, %c4_i64
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: llvm.store

// CHECK-LABEL: llvm.func @k2
// CHECK: scf.for
// CHECK-COUNT-20: arith.muli %{{[^ ]+}}, %{{[^ ]+}} : i64
// CHECK-NOT: arith.muli %{{[^ ]+}}, %{{[^ ]+}} : i64
// CHECK-COUNT-4: llvm.store
// CHECK: llvm.return
