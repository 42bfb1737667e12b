// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch pointwise "scale"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 256, 1, 1
// CHECK: kernel.dispatch reduction "columns"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 4, 1, 1
// CHECK: kernel.dispatch row "row"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 33, 1, 1
// CHECK: kernel.dispatch reduction "long"{{.*}}launches = [#kernel.launch<@kernels0::@k3 grid = 4, 1, 1
// CHECK: kernel.dispatch pointwise "ragged"{{.*}}launches = [#kernel.launch<@kernels0::@k4 grid = 2, 1, 1

// A thread computes 16 bytes of f16: 8 neighbours at constant offsets.
// CHECK-LABEL: llvm.func @k0(%arg0: !llvm.ptr<1> {llvm.align = 64 : i64, llvm.noalias, llvm.readonly}
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 256>
// CHECK: kernel.thread_id
// CHECK: kernel.block_id x
// CHECK-NOT: scf
// CHECK-COUNT-8: llvm.store
// CHECK-NOT: llvm.store
// CHECK: llvm.return

// Two threads share 16 columns, a sector of f16, so that there are four blocks; 8 warps combine in shared memory; then 16 threads have a column each.
// CHECK-LABEL: llvm.func @k1
// CHECK: scf.for {{.*}} to %c8192_i32 step %c128_i32
// CHECK-COUNT-32: kernel.shuffle xor
// CHECK-NOT: kernel.shuffle
// CHECK: kernel.shared 512
// CHECK-COUNT-8: llvm.store {{.*}} f32, !llvm.ptr<3>
// CHECK: kernel.barrier
// CHECK: arith.cmpi ult, {{.*}}, %c16_i32
// CHECK: scf.if
// CHECK-COUNT-8: llvm.load {{.*}} !llvm.ptr<3>
// CHECK-NOT: llvm.load
// CHECK: llvm.store {{.*}} f32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return

// A warp has a row and a block 4 rows; the last block has warps without a row. Unrolled loops let LLVM find that the second stage loads what the first did.
// CHECK-LABEL: llvm.func @k2
// CHECK: scf.if
// CHECK-NOT: scf.for
// CHECK-COUNT-5: kernel.shuffle xor
// CHECK-NOT: kernel.barrier
// CHECK-NOT: scf.for
// CHECK-COUNT-16: llvm.store {{.*}} !llvm.ptr<1>
// CHECK: llvm.return

// A block has a long row.
// CHECK-LABEL: llvm.func @k3
// CHECK: scf.for
// CHECK-COUNT-5: kernel.shuffle xor
// CHECK: kernel.shared 64
// CHECK: scf.if
// CHECK: llvm.store {{.*}} f32, !llvm.ptr<3>
// CHECK: kernel.barrier
// CHECK-COUNT-16: llvm.load {{.*}} !llvm.ptr<3>
// CHECK: scf.if
// CHECK: llvm.store {{.*}} f32, !llvm.ptr<1>
// CHECK: llvm.return

// 350 pairs in 2 blocks need a guard.
// CHECK-LABEL: llvm.func @k4
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK-COUNT-2: llvm.store {{.*}} f64, !llvm.ptr<1>
// CHECK: llvm.return
func.func @f(%x: tensor<32x16x16x64xf16>, %s: tensor<64xf32>, %l: tensor<129x500xf32>, %m: tensor<4x5000xf32>, %n: tensor<700xf64>)
    -> (tensor<32x16x16x64xf16>, tensor<64xf32>, tensor<129x500xf32>, tensor<4xf32>, tensor<700xf64>) {
  %0 = kernel.dispatch pointwise "scale"(%x, %s) : (tensor<32x16x16x64xf16>, tensor<64xf32>) -> tensor<32x16x16x64xf16> {
  ^bb0(%a: tensor<32x16x16x64xf16>, %b: tensor<64xf32>):
    %1 = graph.cast %a : tensor<32x16x16x64xf16> to tensor<32x16x16x64xf32>
    %2 = graph.mul %1, %b : (tensor<32x16x16x64xf32>, tensor<64xf32>) -> tensor<32x16x16x64xf32>
    %3 = graph.cast %2 : tensor<32x16x16x64xf32> to tensor<32x16x16x64xf16>
    kernel.yield %3 : tensor<32x16x16x64xf16>
  }
  %c = kernel.dispatch reduction "columns"(%x) : (tensor<32x16x16x64xf16>) -> tensor<64xf32> {
  ^bb0(%a: tensor<32x16x16x64xf16>):
    %1 = graph.cast %a : tensor<32x16x16x64xf16> to tensor<32x16x16x64xf32>
    %2 = graph.reduce_sum %1 {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<32x16x16x64xf32>) -> tensor<64xf32>
    kernel.yield %2 : tensor<64xf32>
  }
  %r = kernel.dispatch row "row"(%l) : (tensor<129x500xf32>) -> tensor<129x500xf32> {
  ^bb0(%a: tensor<129x500xf32>):
    %1 = graph.reduce_max %a {axes = array<i64: 1>, keepdims = true} : (tensor<129x500xf32>) -> tensor<129x1xf32>
    %2 = graph.sub %a, %1 : (tensor<129x500xf32>, tensor<129x1xf32>) -> tensor<129x500xf32>
    kernel.yield %2 : tensor<129x500xf32>
  }
  %q = kernel.dispatch reduction "long"(%m) : (tensor<4x5000xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x5000xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<4x5000xf32>) -> tensor<4xf32>
    kernel.yield %1 : tensor<4xf32>
  }
  %t = kernel.dispatch pointwise "ragged"(%n) : (tensor<700xf64>) -> tensor<700xf64> {
  ^bb0(%a: tensor<700xf64>):
    %1 = graph.neg %a : tensor<700xf64>
    kernel.yield %1 : tensor<700xf64>
  }
  return %0, %c, %r, %q, %t : tensor<32x16x16x64xf16>, tensor<64xf32>, tensor<129x500xf32>, tensor<4xf32>, tensor<700xf64>
}
