// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-plan-loops --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch row "softmax"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 250, 1, 1 args = 0, 1>]
// CHECK: kernel.dispatch row "norm"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 64, 1, 1 args = 0, 1>]

// A warp has a row: the maximum and the sum are combined by shuffles, and no memory is shared. A thread takes up to three pieces of four neighbours, unrolled; of the
// third one only some threads have a part, so it is guarded where it is stored.
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 128
// CHECK-NOT: kernel.shared
// CHECK-NOT: scf.for
// CHECK-COUNT-12: llvm.load {{.*}} : !llvm.ptr<1> -> f16
// CHECK-NOT: llvm.load
// CHECK-COUNT-5: kernel.shuffle xor
// CHECK-NOT: kernel.
// CHECK-COUNT-12: math.exp
// CHECK-NOT: math.exp
// CHECK-COUNT-5: kernel.shuffle xor
// CHECK-NOT: kernel.
// CHECK-COUNT-4: arith.divf
// CHECK-COUNT-4: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK-COUNT-4: arith.divf
// CHECK-COUNT-4: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: scf.if
// CHECK-COUNT-4: arith.divf
// CHECK-COUNT-4: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @softmax(%x: tensor<1000x300xf16>) -> tensor<1000x300xf16> {
  %r = kernel.dispatch row "softmax" (%x) : (tensor<1000x300xf16>) -> (tensor<1000x300xf16>) {
  ^bb0(%a: tensor<1000x300xf16>):
    %w = graph.cast %a : tensor<1000x300xf16> to tensor<1000x300xf32>
    %m = graph.reduce_max %w {axes = array<i64: 1>, keepdims = true} : (tensor<1000x300xf32>) -> tensor<1000x1xf32>
    %d = graph.sub %w, %m : (tensor<1000x300xf32>, tensor<1000x1xf32>) -> tensor<1000x300xf32>
    %e = graph.exp %d : tensor<1000x300xf32>
    %s = graph.reduce_sum %e {axes = array<i64: 1>, keepdims = true} : (tensor<1000x300xf32>) -> tensor<1000x1xf32>
    %y = graph.div %e, %s : (tensor<1000x300xf32>, tensor<1000x1xf32>) -> tensor<1000x300xf32>
    %n = graph.cast %y : tensor<1000x300xf32> to tensor<1000x300xf16>
    kernel.yield %n : tensor<1000x300xf16>
  }
  return %r : tensor<1000x300xf16>
}

// A block of 16 warps has a row. Each warp writes its part of a sum to shared memory, and behind the barrier every thread adds the 16 parts. The two sums have a
// piece of memory each, so that no second barrier is needed between them. What depends on the row alone is computed once a thread.
// CHECK-LABEL: llvm.func @k1(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 512
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load
// CHECK-COUNT-5: kernel.shuffle xor
// CHECK: kernel.shared 64
// CHECK: scf.if
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: kernel.barrier
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: !llvm.ptr<3> -> f32
// CHECK-COUNT-5: kernel.shuffle xor
// CHECK: kernel.shared 64
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: kernel.barrier
// CHECK-NOT: kernel.
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: math.sqrt
// CHECK-NOT: math.sqrt
// CHECK-COUNT-16: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK: llvm.return
func.func @norm(%x: tensor<64x8192xf32>) -> tensor<64x8192xf32> {
  %r = kernel.dispatch row "norm" (%x) : (tensor<64x8192xf32>) -> (tensor<64x8192xf32>) {
  ^bb0(%a: tensor<64x8192xf32>):
    %m = graph.reduce_mean %a {axes = array<i64: 1>, keepdims = true} : (tensor<64x8192xf32>) -> tensor<64x1xf32>
    %d = graph.sub %a, %m : (tensor<64x8192xf32>, tensor<64x1xf32>) -> tensor<64x8192xf32>
    %q = graph.mul %d, %d : (tensor<64x8192xf32>, tensor<64x8192xf32>) -> tensor<64x8192xf32>
    %s = graph.reduce_sum %q {axes = array<i64: 1>, keepdims = true} : (tensor<64x8192xf32>) -> tensor<64x1xf32>
    %i = graph.rsqrt %s : tensor<64x1xf32>
    %y = graph.mul %d, %i : (tensor<64x8192xf32>, tensor<64x1xf32>) -> tensor<64x8192xf32>
    kernel.yield %y : tensor<64x8192xf32>
  }
  return %r : tensor<64x8192xf32>
}
