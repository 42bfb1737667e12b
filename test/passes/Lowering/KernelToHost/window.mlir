// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch pointwise "pool"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 128, 1, 1
// CHECK: kernel.dispatch pointwise "padded"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 256, 1, 1
// CHECK: kernel.dispatch pointwise "gather"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 32, 1, 1

// The grid goes over images and rows. The four taps of a window are unrolled and need no check.
// CHECK-LABEL: llvm.func @k0
// CHECK: scf.for {{.*}} = %arg1 to %arg2
// CHECK-NEXT: scf.for {{.*}} = %c0_i64 to %c16_i64
// CHECK-NEXT: scf.for {{.*}} = %c0_i64 to %c64_i64
// CHECK-NOT: scf
// CHECK-COUNT-4: llvm.load {{.*}} -> f16
// CHECK-NOT: llvm.load
// CHECK: arith.divf
// CHECK: llvm.store
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @pool(%x: tensor<8x32x32x64xf16>) -> tensor<8x16x16x64xf16> {
  %r = kernel.dispatch pointwise "pool" (%x) : (tensor<8x32x32x64xf16>) -> (tensor<8x16x16x64xf16>) {
  ^bb0(%a: tensor<8x32x32x64xf16>):
    %0 = graph.avg_pool %a {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, layout = #graph<layout channels_last>} : (tensor<8x32x32x64xf16>) -> tensor<8x16x16x64xf16>
    kernel.yield %0 : tensor<8x16x16x64xf16>
  }
  return %r : tensor<8x16x16x64xf16>
}

// With padding the taps outside are replaced by zeros: they are read inside of the image and selected, so that the loop has no branch. The middle tap is always inside.
// CHECK-LABEL: llvm.func @k1
// CHECK: scf.for {{.*}} = %c0_i64 to %c64_i64
// CHECK-NOT: scf
// CHECK-COUNT-4: arith.select
// CHECK: %[[MIDDLE:.*]] = llvm.load
// CHECK-NEXT: arith.addf %{{.*}}, %[[MIDDLE]] : f32
// CHECK-COUNT-4: arith.select
// CHECK-NOT: arith.select
// CHECK: arith.divf
// CHECK: llvm.store
// CHECK: llvm.return
func.func @padded(%x: tensor<8x32x32x64xf32>) -> tensor<8x32x32x64xf32> {
  %r = kernel.dispatch pointwise "padded" (%x) : (tensor<8x32x32x64xf32>) -> (tensor<8x32x32x64xf32>) {
  ^bb0(%a: tensor<8x32x32x64xf32>):
    %0 = graph.avg_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, layout = #graph<layout channels_last>} : (tensor<8x32x32x64xf32>) -> tensor<8x32x32x64xf32>
    kernel.yield %0 : tensor<8x32x32x64xf32>
  }
  return %r : tensor<8x32x32x64xf32>
}

// An index from the end of the table is turned around, and one that is outside is clamped.
// CHECK-LABEL: llvm.func @k2
// CHECK: scf.for {{.*}} = %arg1 to %arg2
// CHECK-NEXT: scf.for {{.*}} = %c0_i64 to %c64_i64
// CHECK: %[[INDEX:.*]] = llvm.load {{.*}} -> i64
// CHECK: %[[TURNED:.*]] = arith.addi %[[INDEX]], %c1000_i64
// CHECK: arith.select %{{.*}}, %[[TURNED]], %[[INDEX]]
// CHECK: arith.maxsi {{.*}}, %c0_i64
// CHECK: arith.minsi {{.*}}, %c999_i64
// CHECK: llvm.load {{.*}} -> f16
// CHECK: llvm.store
// CHECK: llvm.return
func.func @gather(%t: tensor<1000x64xf16>, %i: tensor<32xi64>) -> tensor<32x64xf16> {
  %r = kernel.dispatch pointwise "gather" (%t, %i) : (tensor<1000x64xf16>, tensor<32xi64>) -> (tensor<32x64xf16>) {
  ^bb0(%a: tensor<1000x64xf16>, %b: tensor<32xi64>):
    %0 = graph.gather %a, %b {axis = 0 : i64} : (tensor<1000x64xf16>, tensor<32xi64>) -> tensor<32x64xf16>
    kernel.yield %0 : tensor<32x64xf16>
  }
  return %r : tensor<32x64xf16>
}
