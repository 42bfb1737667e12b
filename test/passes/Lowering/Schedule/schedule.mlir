// RUN: mpc-opt %s --mpc-set-target=name=sm_70 --mpc-schedule | FileCheck %s --check-prefixes=CHECK,SIMT
// RUN: mpc-opt %s --mpc-set-target=name=sm_75 --mpc-schedule | FileCheck %s --check-prefixes=CHECK,STAGED
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule | FileCheck %s --check-prefixes=CHECK,RING
// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-schedule | FileCheck %s --check-prefixes=CHECK,WGMMA
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule --mpc-schedule | FileCheck %s --check-prefixes=CHECK,RING
// RUN: mpc-opt %s --mpc-set-target=name=host --mpc-schedule | FileCheck %s --check-prefix=HOST

// The tensor cores of the architecture multiply 16-bit factors: with mma, through registers on sm_75 and through a ring of more tiles on sm_80, or with wgmma.
// CHECK-LABEL: func.func @f16
// SIMT: kernel.dispatch contraction "f16"({{.*}}) {schedule = #kernel.contraction<simt
// STAGED: kernel.dispatch contraction "f16"({{.*}}) {schedule = #kernel.contraction<mma {{[0-9x]+}} stages=2>} :
// RING: kernel.dispatch contraction "f16"({{.*}}) {schedule = #kernel.contraction<mma {{[0-9x]+}} stages={{[34]}}>} :
// WGMMA: kernel.dispatch contraction "f16"({{.*}}) {schedule = #kernel.contraction<wgmma
// HOST-LABEL: func.func @f16
// HOST: kernel.dispatch contraction "f16"(%arg0) :
func.func @f16(%a: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = kernel.dispatch contraction "f16" (%a) : (tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  ^bb0(%0: tensor<4096x4096xf16>):
    %h = graph.matmul %0, %0 : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    kernel.yield %h : tensor<4096x4096xf16>
  }
  return %r : tensor<4096x4096xf16>
}

// bf16 takes mma of 16 k, which sm_75 does not have; products of f32 take no tensor cores.
// CHECK-LABEL: func.func @others
// SIMT: kernel.dispatch contraction "bf16"{{.*}}#kernel.contraction<simt
// STAGED: kernel.dispatch contraction "bf16"{{.*}}#kernel.contraction<simt
// RING: kernel.dispatch contraction "bf16"{{.*}}#kernel.contraction<mma
// WGMMA: kernel.dispatch contraction "bf16"{{.*}}#kernel.contraction<wgmma
// CHECK: kernel.dispatch contraction "f32"{{.*}}#kernel.contraction<simt
func.func @others(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xf32>) -> (tensor<4096x4096xbf16>, tensor<4096x4096xf32>) {
  %r = kernel.dispatch contraction "bf16" (%a) : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  ^bb0(%0: tensor<4096x4096xbf16>):
    %h = graph.matmul %0, %0 : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    kernel.yield %h : tensor<4096x4096xbf16>
  }
  %s = kernel.dispatch contraction "f32" (%b) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  ^bb0(%0: tensor<4096x4096xf32>):
    %h = graph.matmul %0, %0 : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    kernel.yield %h : tensor<4096x4096xf32>
  }
  return %r, %s : tensor<4096x4096xbf16>, tensor<4096x4096xf32>
}

// Few results with long sums are split, since one tile would leave most multiprocessors idle.
// CHECK-LABEL: func.func @long
// CHECK: kernel.dispatch contraction "long"{{.*}} splits={{[0-9]+}}{{.*}}>, scratch_bytes = {{[0-9]+}} : i64}
func.func @long(%a: tensor<64x8192xf16>, %b: tensor<8192x64xf16>) -> tensor<64x64xf16> {
  %r = kernel.dispatch contraction "long" (%a, %b) : (tensor<64x8192xf16>, tensor<8192x64xf16>) -> tensor<64x64xf16> {
  ^bb0(%0: tensor<64x8192xf16>, %1: tensor<8192x64xf16>):
    %h = graph.matmul %0, %1 : (tensor<64x8192xf16>, tensor<8192x64xf16>) -> tensor<64x64xf16>
    kernel.yield %h : tensor<64x64xf16>
  }
  return %r : tensor<64x64xf16>
}

// A schedule that stands in the IR stays. The scratch follows it: eight times 64 x 64 sums of f32 where there was none, and none where an earlier schedule had some.
// CHECK-LABEL: func.func @given
// CHECK: kernel.dispatch contraction "split"({{.*}}) {schedule = #kernel.contraction<simt 64x64x16 stages=2 splits=8>, scratch_bytes = 131072 : i64}
// CHECK: kernel.dispatch contraction "whole"({{.*}}) {schedule = #kernel.contraction<simt 32x32x16 stages=2>} :
func.func @given(%a: tensor<64x8192xf32>, %b: tensor<8192x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %r = kernel.dispatch contraction "split" (%a, %b) {schedule = #kernel.contraction<simt 64x64x16 stages=2 splits=8>} : (tensor<64x8192xf32>, tensor<8192x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x8192xf32>, %1: tensor<8192x64xf32>):
    %h = graph.matmul %0, %1 : (tensor<64x8192xf32>, tensor<8192x64xf32>) -> tensor<64x64xf32>
    kernel.yield %h : tensor<64x64xf32>
  }
  %s = kernel.dispatch contraction "whole" (%a, %b) {schedule = #kernel.contraction<simt 32x32x16 stages=2>, scratch_bytes = 131072 : i64} : (tensor<64x8192xf32>, tensor<8192x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%0: tensor<64x8192xf32>, %1: tensor<8192x64xf32>):
    %h = graph.matmul %0, %1 : (tensor<64x8192xf32>, tensor<8192x64xf32>) -> tensor<64x64xf32>
    kernel.yield %h : tensor<64x64xf32>
  }
  return %r, %s : tensor<64x64xf32>, tensor<64x64xf32>
}

// CHECK-LABEL: func.func @loops
// CHECK: kernel.dispatch pointwise "exp"(%arg0) : (tensor<8xf16>)
func.func @loops(%a: tensor<8xf16>) -> tensor<8xf16> {
  %r = kernel.dispatch pointwise "exp" (%a) : (tensor<8xf16>) -> tensor<8xf16> {
  ^bb0(%0: tensor<8xf16>):
    %h = graph.exp %0 : tensor<8xf16>
    kernel.yield %h : tensor<8xf16>
  }
  return %r : tensor<8xf16>
}
