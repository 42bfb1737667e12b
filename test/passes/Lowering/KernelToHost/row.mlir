// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s

// Softmax has a loop per row for the maximum, one for the sum, and one that stores. Both reductions stay in registers.
// CHECK: kernel.dispatch row "softmax"{{.*}}grid = 100, 1, 1
func.func @softmax(%x: tensor<100x300xf32>) -> tensor<100x300xf32> {
  %r = kernel.dispatch row "softmax" (%x) : (tensor<100x300xf32>) -> (tensor<100x300xf32>) {
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

// Exponentials that are divided elsewhere are stored in the loop that adds them up: there are two loops along a row, and exp is computed in one.
// CHECK-LABEL: llvm.func @k1
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.maximumf
// CHECK: scf.for
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: llvm.store
// CHECK: scf.yield
// CHECK-NOT: scf.for
// CHECK: llvm.store
func.func @exponentials(%x: tensor<100x300xf32>) -> (tensor<100x300xf32>, tensor<100x1xf32>) {
  %r:2 = kernel.dispatch row "exponentials" (%x) : (tensor<100x300xf32>) -> (tensor<100x300xf32>, tensor<100x1xf32>) {
  ^bb0(%a: tensor<100x300xf32>):
    %0 = graph.reduce_max %a {axes = array<i64: 1>, keepdims = true} : (tensor<100x300xf32>) -> tensor<100x1xf32>
    %1 = graph.sub %a, %0 : (tensor<100x300xf32>, tensor<100x1xf32>) -> tensor<100x300xf32>
    %2 = graph.exp %1 : tensor<100x300xf32>
    %3 = graph.reduce_sum %2 {axes = array<i64: 1>, keepdims = true} : (tensor<100x300xf32>) -> tensor<100x1xf32>
    kernel.yield %2, %3 : tensor<100x300xf32>, tensor<100x1xf32>
  }
  return %r#0, %r#1 : tensor<100x300xf32>, tensor<100x1xf32>
}
