// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s

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

// CHECK-LABEL: llvm.func @k0
// CHECK: scf.for {{.*}} = %arg1 to %arg2
// CHECK: arith.remui %{{.*}}, %c4_i64
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: llvm.store
