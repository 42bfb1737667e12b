// RUN: mpc-opt %s --split-input-file --mpc-decompose-attention --canonicalize --mpc-form-dispatches --mpc-schedule | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-decompose-attention --canonicalize --mpc-form-dispatches --mpc-schedule --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefix=KERNEL

// Causal attention as a network writes it: queries, keys and values are parts of one product's rows. They are read where they lie, the mask is gone, and y is written where
// the next product reads it.
module attributes {kernel.target = #kernel.target<"sm_90a">} {
// CHECK-LABEL: func.func @main
// CHECK: kernel.dispatch attention "slice+transpose+attention"(%{{.*}}) {schedule = #kernel.contraction<mma 64x64x16 stages=2>} : ({{.*}}) -> tensor<2x80x4x16xbf16>
// CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} {after = 0 : i64, scale = 2.500000e-01 : f64}
// CHECK-NOT: kernel.dispatch
// KERNEL: llvm.func @k0({{.*}} attributes {kernel.entry = #kernel.entry<threads = 128, min_blocks = 3>
// KERNEL: kernel.mma bf16 16
// KERNEL: kernel.approx exp2
func.func @main(%x: tensor<2x80x192xbf16>) -> tensor<2x80x64xbf16> {
  %row = graph.iota {axis = 0 : i64} : tensor<80x80xi64>
  %column = graph.iota {axis = 1 : i64} : tensor<80x80xi64>
  %sees = graph.compare le %column, %row : (tensor<80x80xi64>, tensor<80x80xi64>) -> tensor<80x80xi1>
  %mask = graph.reshape %sees : tensor<80x80xi1> to tensor<1x1x80x80xi1>
  %0 = graph.slice %x {starts = array<i64: 0, 0, 0>, sizes = array<i64: 2, 80, 64>, strides = array<i64: 1, 1, 1>} : (tensor<2x80x192xbf16>) -> tensor<2x80x64xbf16>
  %1 = graph.slice %x {starts = array<i64: 0, 0, 64>, sizes = array<i64: 2, 80, 64>, strides = array<i64: 1, 1, 1>} : (tensor<2x80x192xbf16>) -> tensor<2x80x64xbf16>
  %2 = graph.slice %x {starts = array<i64: 0, 0, 128>, sizes = array<i64: 2, 80, 64>, strides = array<i64: 1, 1, 1>} : (tensor<2x80x192xbf16>) -> tensor<2x80x64xbf16>
  %3 = graph.reshape %0 : tensor<2x80x64xbf16> to tensor<2x80x4x16xbf16>
  %4 = graph.reshape %1 : tensor<2x80x64xbf16> to tensor<2x80x4x16xbf16>
  %5 = graph.reshape %2 : tensor<2x80x64xbf16> to tensor<2x80x4x16xbf16>
  %q = graph.transpose %3 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x80x4x16xbf16>) -> tensor<2x4x80x16xbf16>
  %k = graph.transpose %4 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x80x4x16xbf16>) -> tensor<2x4x80x16xbf16>
  %v = graph.transpose %5 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x80x4x16xbf16>) -> tensor<2x4x80x16xbf16>
  %y, %largest, %sum = graph.attention %q, %k, %v mask %mask {scale = 0.25 : f64} : (tensor<2x4x80x16xbf16>, tensor<2x4x80x16xbf16>, tensor<2x4x80x16xbf16>, tensor<1x1x80x80xi1>) -> (tensor<2x4x80x16xbf16>, tensor<2x4x80x1xf32>, tensor<2x4x80x1xf32>)
  %6 = graph.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x80x16xbf16>) -> tensor<2x80x4x16xbf16>
  %7 = graph.reshape %6 : tensor<2x80x4x16xbf16> to tensor<2x80x64xbf16>
  return %7 : tensor<2x80x64xbf16>
}
}

// -----
// A gated network multiplies before it transposes: what the kernel reads is in memory. The kernel of dk and dv writes transposes, too.
module attributes {kernel.target = #kernel.target<"sm_80">} {
// CHECK-LABEL: func.func @gated
// CHECK: %[[DY:.*]] = kernel.dispatch pointwise "mul"
// CHECK: kernel.dispatch attention "transpose+attention_grad"(%[[DY]], {{.*}}tensor<2x80x4x16xf16>)
func.func @gated(%q: tensor<2x4x80x16xf16>, %k: tensor<2x4x80x16xf16>, %v: tensor<2x4x80x16xf16>, %s: tensor<2x4x80x1xf32>, %g: tensor<2x80x4x16xf16>, %h: tensor<2x80x4x16xf16>)
    -> (tensor<2x80x4x16xf16>, tensor<2x4x80x16xf16>, tensor<2x4x80x16xf16>) {
  %0 = graph.mul %g, %h : (tensor<2x80x4x16xf16>, tensor<2x80x4x16xf16>) -> tensor<2x80x4x16xf16>
  %dy = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x80x4x16xf16>) -> tensor<2x4x80x16xf16>
  %dq, %dk, %dv = graph.attention_grad %q, %k, %v from %s, %s, %s, %dy {scale = 0.25 : f64} : (tensor<2x4x80x16xf16>, tensor<2x4x80x16xf16>, tensor<2x4x80x16xf16>, tensor<2x4x80x1xf32>, tensor<2x4x80x1xf32>, tensor<2x4x80x1xf32>, tensor<2x4x80x16xf16>) -> (tensor<2x4x80x16xf16>, tensor<2x4x80x16xf16>, tensor<2x4x80x16xf16>)
  %1 = graph.transpose %dq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x80x16xf16>) -> tensor<2x80x4x16xf16>
  return %1, %dk, %dv : tensor<2x80x4x16xf16>, tensor<2x4x80x16xf16>, tensor<2x4x80x16xf16>
}

// Cotangents of queries, keys and values are written side by side, into the rows of one tensor.
// CHECK-LABEL: func.func @joined(
// CHECK: %[[W:.*]] = kernel.dispatch attention "attention_grad+transpose+concat"({{.*}}) {{.*}} -> tensor<2x80x10x16xf16>
// CHECK-NOT: kernel.dispatch
// CHECK: return %[[W]]
func.func @joined(%q: tensor<2x6x80x16xf16>, %k: tensor<2x2x80x16xf16>, %v: tensor<2x2x80x16xf16>, %s: tensor<2x6x80x1xf32>, %dy: tensor<2x6x80x16xf16>) -> tensor<2x80x10x16xf16> {
  %dq, %dk, %dv = graph.attention_grad %q, %k, %v from %s, %s, %s, %dy {scale = 0.25 : f64} : (tensor<2x6x80x16xf16>, tensor<2x2x80x16xf16>, tensor<2x2x80x16xf16>, tensor<2x6x80x1xf32>, tensor<2x6x80x1xf32>, tensor<2x6x80x1xf32>, tensor<2x6x80x16xf16>) -> (tensor<2x6x80x16xf16>, tensor<2x2x80x16xf16>, tensor<2x2x80x16xf16>)
  %0 = graph.transpose %dq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x6x80x16xf16>) -> tensor<2x80x6x16xf16>
  %1 = graph.transpose %dk {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x80x16xf16>) -> tensor<2x80x2x16xf16>
  %2 = graph.transpose %dv {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x80x16xf16>) -> tensor<2x80x2x16xf16>
  %w = graph.concat %0, %1, %2 {axis = 2 : i64} : (tensor<2x80x6x16xf16>, tensor<2x80x2x16xf16>, tensor<2x80x2x16xf16>) -> tensor<2x80x10x16xf16>
  return %w : tensor<2x80x10x16xf16>
}

// A value that something else reads, too, is concatenated by a launch of its own.
// CHECK-LABEL: func.func @read_twice(
// CHECK: kernel.dispatch attention
// CHECK: kernel.dispatch pointwise "concat"
func.func @read_twice(%q: tensor<2x6x80x16xf16>, %k: tensor<2x2x80x16xf16>, %v: tensor<2x2x80x16xf16>, %s: tensor<2x6x80x1xf32>, %dy: tensor<2x6x80x16xf16>) -> (tensor<2x8x80x16xf16>, tensor<2x2x80x16xf16>) {
  %dq, %dk, %dv = graph.attention_grad %q, %k, %v from %s, %s, %s, %dy {scale = 0.25 : f64} : (tensor<2x6x80x16xf16>, tensor<2x2x80x16xf16>, tensor<2x2x80x16xf16>, tensor<2x6x80x1xf32>, tensor<2x6x80x1xf32>, tensor<2x6x80x1xf32>, tensor<2x6x80x16xf16>) -> (tensor<2x6x80x16xf16>, tensor<2x2x80x16xf16>, tensor<2x2x80x16xf16>)
  %w = graph.concat %dq, %dk {axis = 1 : i64} : (tensor<2x6x80x16xf16>, tensor<2x2x80x16xf16>) -> tensor<2x8x80x16xf16>
  return %w, %dk : tensor<2x8x80x16xf16>, tensor<2x2x80x16xf16>
}

// Keys that a number above the lowest ones hides are seen, so the mask and the number stay.
// CHECK-LABEL: func.func @seen_behind_the_mask
// CHECK: graph.attention %{{.*}} mask %{{.*}} {fill = -1.000000e+04 : f64, scale = 2.500000e-01 : f64}
func.func @seen_behind_the_mask(%q: tensor<1x2x8x16xf16>, %k: tensor<1x2x8x16xf16>, %v: tensor<1x2x8x16xf16>) -> tensor<1x2x8x16xf16> {
  %row = graph.iota {axis = 0 : i64} : tensor<8x8xi64>
  %column = graph.iota {axis = 1 : i64} : tensor<8x8xi64>
  %sees = graph.compare lt %column, %row : (tensor<8x8xi64>, tensor<8x8xi64>) -> tensor<8x8xi1>
  %mask = graph.reshape %sees : tensor<8x8xi1> to tensor<1x1x8x8xi1>
  %y, %largest, %sum = graph.attention %q, %k, %v mask %mask {scale = 0.25 : f64, fill = -1.0e4 : f64} : (tensor<1x2x8x16xf16>, tensor<1x2x8x16xf16>, tensor<1x2x8x16xf16>, tensor<1x1x8x8xi1>) -> (tensor<1x2x8x16xf16>, tensor<1x2x8x1xf32>, tensor<1x2x8x1xf32>)
  return %y : tensor<1x2x8x16xf16>
}
}

// -----
// Heads of 64 elements take wgmma on sm_90a: queries and probabilities are in registers, keys and values in shared memory.
module attributes {kernel.target = #kernel.target<"sm_90a">} {
// CHECK-LABEL: func.func @warpgroup(
// CHECK: kernel.dispatch attention "attention"({{.*}}) {schedule = #kernel.contraction<wgmma 64x64x64 stages=2>}
// KERNEL: kernel.async_fence
// KERNEL: kernel.wgmma bf16 registers(%{{.*}}), %{{.*}}[0] <b128 leading 16 stride 1024 transposed false>() : f32
// KERNEL: kernel.wgmma bf16 registers(%{{.*}}), %{{.*}}[96] <b128
// KERNEL: kernel.wgmma_wait 0
// KERNEL: kernel.wgmma bf16 registers(%{{.*}}), %{{.*}}[0] <b128 leading 8192 stride 1024 transposed true>(%
// KERNEL: kernel.wgmma bf16 registers(%{{.*}}), %{{.*}}[6144] <b128
// KERNEL-NOT: kernel.mma
func.func @warpgroup(%q: tensor<2x4x80x64xbf16>, %k: tensor<2x4x80x64xbf16>, %v: tensor<2x4x80x64xbf16>) -> tensor<2x4x80x64xbf16> {
  %y, %l, %s = graph.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x4x80x64xbf16>, tensor<2x4x80x64xbf16>, tensor<2x4x80x64xbf16>) -> (tensor<2x4x80x64xbf16>, tensor<2x4x80x1xf32>, tensor<2x4x80x1xf32>)
  return %y : tensor<2x4x80x64xbf16>
}
}

// -----
// The gradient reads its own rows from shared memory.
module attributes {kernel.target = #kernel.target<"sm_90a">} {
// CHECK-LABEL: func.func @gradient(
// CHECK: kernel.dispatch attention "attention_grad"({{.*}}) {schedule = #kernel.contraction<wgmma 64x64x64 stages=2>}
// KERNEL-LABEL: llvm.func @k0_dkv(
// KERNEL: kernel.wgmma f16 %{{.*}}[0] <b128 leading 16 stride 1024 transposed false>, %{{.*}}[0] <b128 leading 16 stride 1024 transposed false>() : f32
// KERNEL: kernel.wgmma f16 registers(%{{.*}}), %{{.*}}[0] <b128 leading 8192 stride 1024 transposed true>(%
// KERNEL-NOT: kernel.mma
func.func @gradient(%q: tensor<2x4x80x64xf16>, %k: tensor<2x4x80x64xf16>, %v: tensor<2x4x80x64xf16>, %s: tensor<2x4x80x1xf32>, %dy: tensor<2x4x80x64xf16>)
    -> (tensor<2x4x80x64xf16>, tensor<2x4x80x64xf16>, tensor<2x4x80x64xf16>) {
  %dq, %dk, %dv = graph.attention_grad %q, %k, %v from %s, %s, %s, %dy {scale = 0.125 : f64} : (tensor<2x4x80x64xf16>, tensor<2x4x80x64xf16>, tensor<2x4x80x64xf16>, tensor<2x4x80x1xf32>, tensor<2x4x80x1xf32>, tensor<2x4x80x1xf32>, tensor<2x4x80x64xf16>) -> (tensor<2x4x80x64xf16>, tensor<2x4x80x64xf16>, tensor<2x4x80x64xf16>)
  return %dq, %dk, %dv : tensor<2x4x80x64xf16>, tensor<2x4x80x64xf16>, tensor<2x4x80x64xf16>
}
}
