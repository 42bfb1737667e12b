// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-tuner-candidates | FileCheck %s
// RUN: not mpc-opt %s --mpc-tuner-candidates 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-tuner-candidates --mpc-schedule --mpc-plan-arena --mpc-verify-arena --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefix=KERNELS

// Nothing of the model is left but its target. Equal products are one problem, whatever is fused behind them, and each candidate has another schedule.
// CHECK: module attributes {kernel.target = #kernel.target<"sm_90a">} {
// CHECK-NEXT: func.func @p0.c0(%{{.*}}: tensor<64x256xf16>, %{{.*}}: tensor<256x64xf16>) -> tensor<64x64xf16> attributes {train.kind = "candidate"} {
// CHECK: kernel.dispatch contraction "fc"{{.*}}schedule = #kernel.contraction<[[FIRST:.*]]>}
// CHECK: graph.matmul
// CHECK-NOT: graph.exp
// CHECK: func.func @p0.c1(
// CHECK-NOT: schedule = #kernel.contraction<[[FIRST]]>
// CHECK-NOT: func.func @p1
// CHECK-NOT: func.func @predict
// HOST: error: a tuner measures GPU kernels, and this module is for no GPU
// HOST: hint: run mpc-set-target
// KERNELS: func.func @p0.c0(
// KERNELS: launches = [#kernel.launch<@kernels0::@k0
module attributes {train.metrics = []} {
  func.func @predict(%x: tensor<64x256xf16>, %w: tensor<256x64xf16>) -> (tensor<64x64xf16>, tensor<64x64xf16>) {
    %y = kernel.dispatch contraction "fc" (%x, %w) : (tensor<64x256xf16>, tensor<256x64xf16>) -> tensor<64x64xf16> {
    ^bb0(%0: tensor<64x256xf16>, %1: tensor<256x64xf16>):
      %h = graph.matmul %0, %1 : (tensor<64x256xf16>, tensor<256x64xf16>) -> tensor<64x64xf16>
      kernel.yield %h : tensor<64x64xf16>
    }
    %z = kernel.dispatch contraction "fc+exp" (%x, %w) : (tensor<64x256xf16>, tensor<256x64xf16>) -> tensor<64x64xf16> {
    ^bb0(%0: tensor<64x256xf16>, %1: tensor<256x64xf16>):
      %h = graph.matmul %0, %1 : (tensor<64x256xf16>, tensor<256x64xf16>) -> tensor<64x64xf16>
      %e = graph.exp %h : tensor<64x64xf16>
      kernel.yield %e : tensor<64x64xf16>
    }
    return %y, %z : tensor<64x64xf16>, tensor<64x64xf16>
  }
}
