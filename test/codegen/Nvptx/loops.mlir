// This file checks the instructions in the kernels of loops.
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels | mpc-ptx | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels=units=2 | not mpc-ptx 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels | not mpc-ptx - --arch=sm_75 2>&1 | FileCheck %s --check-prefix=OTHER
// SECOND: error: 'kernels1' is a second module of kernels; a program for a GPU has one
// SECOND: note: hint: run mpc-emit-kernels with units=1
// OTHER: error: the module is for sm_80, not for sm_75

// A thread handles eight f16, which it loads and stores in one access each, and loads the channel's factors in two. Divisions are shifts.
// CHECK-LABEL: .entry k0(
// CHECK-NOT: mul.hi
// CHECK: ld.global.nc.v4.b32
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NEXT: ret

// Weights of 3 x 3 windows are handled as one long vector, sixteen bytes at a time, whatever the shape is, and without division.
// CHECK-LABEL: .entry k1(
// CHECK-NOT: mul.hi
// CHECK-COUNT-2: ld.global{{.*}}.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: mul.hi
// CHECK: ret

// Softmax over 1024 f16 has a warp per row and four pieces per lane. The row is read once and kept in registers, with one maximum and one sum.
// CHECK-LABEL: .entry k2(
// CHECK-COUNT-4: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-10: shfl.sync.bfly
// CHECK-NOT: ld.global
// CHECK-COUNT-4: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: ret

// For [8192, 64] -> [64], a thread has eight columns, which are sixteen bytes of a row, and its loop has no division. Lanes of one column combine by shuffles,
// and warps in shared memory, where a thread finds each column.
// CHECK-LABEL: .entry k3(
// CHECK: [[LOOP:\$L__BB3_[0-9]+]]:
// CHECK-NOT: mul.hi
// CHECK: ld.global.nc.v4.b32
// CHECK: bra{{.*}}[[LOOP]]
// CHECK: shfl.sync.bfly
// CHECK-COUNT-8: st.shared.b32
// CHECK: bar.sync
// CHECK-COUNT-8: ld.shared.b32
// CHECK: st.global.b32
// CHECK-NOT: st.global
// CHECK: ret

// A transpose reads and writes along the lanes, through a tile whose rows are 33 elements apart.
// CHECK-LABEL: .entry k4(
// CHECK: .shared .align 16 .b8 {{.*}}[4224]
// CHECK: ld.global
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: ld.shared
// CHECK: st.global
// CHECK: ret

// Max-pooling of channels-last data has windows of eight channels.
// CHECK-LABEL: .entry k5(
// CHECK-COUNT-4: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK: ret
func.func @f(%x: tensor<32x16x16x64xf16>, %s: tensor<64xf32>, %w: tensor<64x64x3x3xf32>, %g: tensor<64x64x3x3xf32>, %l: tensor<128x1024xf16>, %m: tensor<8192x64xf16>, %t: tensor<512x320xf32>) {
  %0 = kernel.dispatch pointwise "scale"(%x, %s) : (tensor<32x16x16x64xf16>, tensor<64xf32>) -> tensor<32x16x16x64xf16> {
  ^bb0(%a: tensor<32x16x16x64xf16>, %b: tensor<64xf32>):
    %1 = graph.cast %a : tensor<32x16x16x64xf16> to tensor<32x16x16x64xf32>
    %2 = graph.mul %1, %b : (tensor<32x16x16x64xf32>, tensor<64xf32>) -> tensor<32x16x16x64xf32>
    %3 = graph.cast %2 : tensor<32x16x16x64xf32> to tensor<32x16x16x64xf16>
    kernel.yield %3 : tensor<32x16x16x64xf16>
  }
  %u = kernel.dispatch pointwise "update"(%w, %g) {in_place = array<i64: 0>} : (tensor<64x64x3x3xf32>, tensor<64x64x3x3xf32>) -> tensor<64x64x3x3xf32> {
  ^bb0(%a: tensor<64x64x3x3xf32>, %b: tensor<64x64x3x3xf32>):
    %1 = graph.sub %a, %b : (tensor<64x64x3x3xf32>, tensor<64x64x3x3xf32>) -> tensor<64x64x3x3xf32>
    kernel.yield %1 : tensor<64x64x3x3xf32>
  }
  %r = kernel.dispatch row "softmax"(%l) : (tensor<128x1024xf16>) -> tensor<128x1024xf16> {
  ^bb0(%a: tensor<128x1024xf16>):
    %1 = graph.cast %a : tensor<128x1024xf16> to tensor<128x1024xf32>
    %2 = graph.reduce_max %1 {axes = array<i64: 1>, keepdims = true} : (tensor<128x1024xf32>) -> tensor<128x1xf32>
    %3 = graph.sub %1, %2 : (tensor<128x1024xf32>, tensor<128x1xf32>) -> tensor<128x1024xf32>
    %4 = graph.exp %3 : tensor<128x1024xf32>
    %5 = graph.reduce_sum %4 {axes = array<i64: 1>, keepdims = true} : (tensor<128x1024xf32>) -> tensor<128x1xf32>
    %6 = graph.div %4, %5 : (tensor<128x1024xf32>, tensor<128x1xf32>) -> tensor<128x1024xf32>
    %7 = graph.cast %6 : tensor<128x1024xf32> to tensor<128x1024xf16>
    kernel.yield %7 : tensor<128x1024xf16>
  }
  %c = kernel.dispatch reduction "columns"(%m) : (tensor<8192x64xf16>) -> tensor<64xf32> {
  ^bb0(%a: tensor<8192x64xf16>):
    %1 = graph.cast %a : tensor<8192x64xf16> to tensor<8192x64xf32>
    %2 = graph.reduce_sum %1 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x64xf32>) -> tensor<64xf32>
    kernel.yield %2 : tensor<64xf32>
  }
  %p = kernel.dispatch pointwise "transpose"(%t) : (tensor<512x320xf32>) -> tensor<320x512xf32> {
  ^bb0(%a: tensor<512x320xf32>):
    %1 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<512x320xf32>) -> tensor<320x512xf32>
    kernel.yield %1 : tensor<320x512xf32>
  }
  %q = kernel.dispatch pointwise "pool"(%x) : (tensor<32x16x16x64xf16>) -> tensor<32x8x8x64xf16> {
  ^bb0(%a: tensor<32x16x16x64xf16>):
    %1, %2 = graph.max_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, layout = #graph<layout channels_last>}
      : (tensor<32x16x16x64xf16>) -> (tensor<32x8x8x64xf16>, tensor<32x8x8x64xi16>)
    kernel.yield %1 : tensor<32x8x8x64xf16>
  }
  return
}
