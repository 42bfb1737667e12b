// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// A block computes a tile of 32 x 32 elements: its threads read x along its rows and put the results into shared memory, and behind the barrier they store them along
// the rows of the result. A line of the tile has 33 elements, so that a column lies in 32 banks.
// CHECK: kernel.dispatch pointwise "transpose"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 300, 1, 1 args = 0, 1>]
// CHECK: kernel.dispatch pointwise "ragged"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 12, 1, 1 args = 0, 1>]
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 256
// CHECK: kernel.shared 4224
// CHECK-NOT: scf.if
// CHECK: scf.for {{.*}} to %c32_i32 step %c8_i32
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: arith.negf
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: kernel.barrier
// CHECK-NOT: scf.if
// CHECK: scf.for {{.*}} to %c32_i32 step %c8_i32
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: arith.negf
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: kernel.barrier
// CHECK: llvm.return
func.func @transpose(%x: tensor<640x480xf32>) -> tensor<480x640xf32> {
  %r = kernel.dispatch pointwise "transpose" (%x) : (tensor<640x480xf32>) -> (tensor<480x640xf32>) {
  ^bb0(%a: tensor<640x480xf32>):
    %0 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<640x480xf32>) -> tensor<480x640xf32>
    %1 = graph.neg %0 : tensor<480x640xf32>
    kernel.yield %1 : tensor<480x640xf32>
  }
  return %r : tensor<480x640xf32>
}

// Tiles at the edges are guarded in both loops. The barrier is outside of all guards.
// CHECK-LABEL: llvm.func @k1(
// CHECK: scf.for
// CHECK: scf.if
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f16
// CHECK: llvm.store {{.*}}!llvm.ptr<3>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: kernel.barrier
// CHECK: scf.for
// CHECK: scf.if
// CHECK: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.return
func.func @ragged(%x: tensor<2x50x77xf16>) -> tensor<2x77x50xf16> {
  %r = kernel.dispatch pointwise "ragged" (%x) : (tensor<2x50x77xf16>) -> (tensor<2x77x50xf16>) {
  ^bb0(%a: tensor<2x50x77xf16>):
    %0 = graph.transpose %a {permutation = array<i64: 0, 2, 1>} : (tensor<2x50x77xf16>) -> tensor<2x77x50xf16>
    kernel.yield %0 : tensor<2x77x50xf16>
  }
  return %r : tensor<2x77x50xf16>
}
