// RUN: mpc-opt %s --mpc-emit-kernels | FileCheck %s

// Softmax has a loop per row for the maximum, one for the sum, and one that stores. Both reductions stay in registers.
// CHECK: kernel.dispatch "softmax"{{.*}}grid = 100, 1, 1
func.func @softmax(%x: tensor<100x300xf32>) -> tensor<100x300xf32> {
  %r = kernel.dispatch "softmax" (%x) : (tensor<100x300xf32>) -> (tensor<100x300xf32>) {
  ^bb0(%a: tensor<100x300xf32>):
    %m = graph.reduce_max %a {axes = array<i64: 1>, keepdims = true} : (tensor<100x300xf32>) -> tensor<100x1xf32>
    %d = graph.sub %a, %m : (tensor<100x300xf32>, tensor<100x1xf32>) -> tensor<100x300xf32>
    %e = graph.exp %d : tensor<100x300xf32>
    %s = graph.reduce_sum %e {axes = array<i64: 1>, keepdims = true} : (tensor<100x300xf32>) -> tensor<100x1xf32>
    %y = graph.div %e, %s : (tensor<100x300xf32>, tensor<100x1xf32>) -> tensor<100x300xf32>
    kernel.yield %y : tensor<100x300xf32>
  }
  return %r : tensor<100x300xf32>
}

// Reductions over different axes do not make one nest, but the code is correct.
// CHECK: kernel.dispatch "two axes"
// CHECK-SAME: @kernels0::@k1
func.func @no_form(%x: tensor<10x30xf32>) -> (tensor<10xf32>, tensor<30xf32>) {
  %r:2 = kernel.dispatch "two axes" (%x) : (tensor<10x30xf32>) -> (tensor<10xf32>, tensor<30xf32>) {
  ^bb0(%a: tensor<10x30xf32>):
    %0 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<10x30xf32>) -> tensor<10xf32>
    %1 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<10x30xf32>) -> tensor<30xf32>
    kernel.yield %0, %1 : tensor<10xf32>, tensor<30xf32>
  }
  return %r#0, %r#1 : tensor<10xf32>, tensor<30xf32>
}

// CHECK-LABEL: llvm.func @k0
// CHECK: scf.for %[[ROW:.*]] = %arg1 to %arg2
// CHECK: %[[MAX:.*]] = scf.for {{.*}} iter_args
// CHECK: arith.maximumf
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args
// CHECK: arith.subf %{{.*}}, %[[MAX]]
// CHECK: math.exp
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: arith.subf %{{.*}}, %[[MAX]]
// CHECK: arith.divf %{{.*}}, %[[SUM]]
// CHECK: llvm.store
// CHECK-NOT: llvm.store
// CHECK: llvm.return

// CHECK-LABEL: llvm.func @k1
// CHECK: scf.for {{.*}} = %c0_i64 to %c10_i64
// CHECK: scf.for {{.*}} = %c0_i64 to %c30_i64 {{.*}} iter_args
// CHECK: llvm.store
// CHECK: scf.for {{.*}} = %c0_i64 to %c30_i64
// CHECK: scf.for {{.*}} = %c0_i64 to %c10_i64 {{.*}} iter_args
// CHECK: llvm.store
// CHECK: llvm.return
