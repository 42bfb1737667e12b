// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-schedule --mpc-emit-kernels | mpc-ptx - | FileCheck %s
// RUN: %if ptxas %{ mpc-opt %s --mpc-set-target=name=sm_90a --mpc-schedule --mpc-emit-kernels | mpc-ptx - --emit=none --ptxas 2>&1 | FileCheck %s --check-prefix=PTXAS %}

// A stage has 128 of k, which take four wgmmas, the first of which starts from zero; their sum is added in f32. Operands are loaded as boxes of 128 bytes.
// PTXAS: k0: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads
// PTXAS-NOT: C75
// PTXAS-NOT: warning

// CHECK-LABEL: .entry k0(
// CHECK: setmaxnreg.inc.sync.aligned.u32 232;
// CHECK-COUNT-128: add.rn.f32
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: wgmma.fence.sync.aligned;
// CHECK: setp.ne.u32 add, 0, 0;
// CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n128k32.f32.e5m2.e4m3 {{.*}}, add, 1, 1;
// CHECK-COUNT-3: setp.eq.u32 add, 0, 0;
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile
func.func @f(%a: tensor<4096x4096xf8E5M2>, %b: tensor<4096x4096xf8E4M3FN>) {
  %gemm = kernel.dispatch contraction "gemm" (%a, %b) : (tensor<4096x4096xf8E5M2>, tensor<4096x4096xf8E4M3FN>) -> tensor<4096x4096xbf16> {
  ^bb0(%0: tensor<4096x4096xf8E5M2>, %1: tensor<4096x4096xf8E4M3FN>):
    %h = graph.matmul %0, %1 {transpose_b} : (tensor<4096x4096xf8E5M2>, tensor<4096x4096xf8E4M3FN>) -> tensor<4096x4096xbf16>
    kernel.yield %h : tensor<4096x4096xbf16>
  }
  return
}
