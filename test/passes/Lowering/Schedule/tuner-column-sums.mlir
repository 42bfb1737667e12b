// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-tuner-candidates | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-tuner-candidates --mpc-schedule --mpc-plan-arena --mpc-verify-arena --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefix=KERNELS

// A product whose columns are summed is a problem of its own, since it is not split along k. Its candidates compute the sums, with what they are computed from; what else is fused
// behind the product is left out. The product is the first result of each, for a tuner compares it.
// CHECK: func.func @p0.c0(%{{.*}}: tensor<64x4096xf16>, %{{.*}}: tensor<4096x64xf16>) -> tensor<64x64xf16>
// CHECK-NOT: reduce_sum
// CHECK: func.func @p1.c0(%[[A:.*]]: tensor<64x4096xf16>, %[[B:.*]]: tensor<4096x64xf16>, %[[BIAS:.*]]: tensor<64xf16>) -> (tensor<64x64xf16>, tensor<64xf16>)
// CHECK: kernel.dispatch contraction "fc+sum"(%[[A]], %[[B]], %[[BIAS]]) {schedule = #kernel.contraction<{{[^=]*}}stages={{[0-9]+}}>}
// CHECK: %[[H:.*]] = graph.matmul
// CHECK-NEXT: %[[ADDED:.*]] = graph.add %[[H]],
// CHECK-NEXT: %[[SUM:.*]] = graph.reduce_sum %[[ADDED]]
// CHECK-NEXT: kernel.yield %[[H]], %[[SUM]]
// CHECK-NOT: graph.exp
// CHECK-NOT: splits=
// CHECK: func.func @p2.c0(%{{.*}}: tensor<64x64xf16>, %{{.*}}: tensor<64x64xf16>) -> (tensor<64x64xf16>, tensor<64xf16>)
// KERNELS: func.func @p1.c0(
// KERNELS: launches = [#kernel.launch<@kernels{{.*}}_columns
module {
  func.func @predict(%x: tensor<64x4096xf16>, %w: tensor<4096x64xf16>, %b: tensor<64xf16>, %s: tensor<64x64xf16>) -> (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64xf16>, tensor<64xf16>) {
    %plain = kernel.dispatch contraction "fc" (%x, %w) : (tensor<64x4096xf16>, tensor<4096x64xf16>) -> tensor<64x64xf16> {
    ^bb0(%0: tensor<64x4096xf16>, %1: tensor<4096x64xf16>):
      %h = graph.matmul %0, %1 : (tensor<64x4096xf16>, tensor<4096x64xf16>) -> tensor<64x64xf16>
      kernel.yield %h : tensor<64x64xf16>
    }
    %e, %sum = kernel.dispatch contraction "fc+sum" (%x, %w, %b) : (tensor<64x4096xf16>, tensor<4096x64xf16>, tensor<64xf16>) -> (tensor<64x64xf16>, tensor<64xf16>) {
    ^bb0(%0: tensor<64x4096xf16>, %1: tensor<4096x64xf16>, %2: tensor<64xf16>):
      %h = graph.matmul %0, %1 : (tensor<64x4096xf16>, tensor<4096x64xf16>) -> tensor<64x64xf16>
      %added = graph.add %h, %2 : (tensor<64x64xf16>, tensor<64xf16>) -> tensor<64x64xf16>
      %exp = graph.exp %added : tensor<64x64xf16>
      %r = graph.reduce_sum %added {axes = array<i64: 0>, keepdims = false} : (tensor<64x64xf16>) -> tensor<64xf16>
      kernel.yield %exp, %r : tensor<64x64xf16>, tensor<64xf16>
    }
    %alone = kernel.dispatch contraction "square" (%s) : (tensor<64x64xf16>) -> tensor<64xf16> {
    ^bb0(%0: tensor<64x64xf16>):
      %h = graph.matmul %0, %0 : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
      %r = graph.reduce_sum %h {axes = array<i64: 0>, keepdims = false} : (tensor<64x64xf16>) -> tensor<64xf16>
      kernel.yield %r : tensor<64xf16>
    }
    return %plain, %e, %sum, %alone : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64xf16>, tensor<64xf16>
  }
}
