// RUN: mpc-opt %s --mpc-set-target=name=sm_70 --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch contraction "f16"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 192, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch contraction "f64"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 6, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch contraction "epilogue"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 8, 1, 1 args = 0, 1, 2, 3>]

// Without tensor cores that mpc uses, a thread has 8 x 4 sums. Operands are widened to f32 on their way into shared memory, where each has two buffers. In the
// loop a thread first loads the next tile, then multiplies 16 of k, then stores that tile into the other buffer: one barrier a tile is enough.
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 128
// CHECK-COUNT-2: kernel.shared 8704
// CHECK-NOT: kernel.shared
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-8: arith.extf
// CHECK-COUNT-8: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-2: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK: kernel.barrier
// CHECK: scf.for {{.*}} to %c32_i32 step %c1_i32 iter_args
// CHECK: scf.if
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-NOT: kernel.barrier
// CHECK-COUNT-3: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-COUNT-512: math.fma {{.*}} : f32
// CHECK-NOT: math.fma
// CHECK-NOT: kernel.barrier
// CHECK-COUNT-8: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK-COUNT-2: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NEXT: kernel.barrier
// CHECK: scf.yield
// CHECK-NOT: kernel.
// CHECK-COUNT-32: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @f16(%a: tensor<1024x512xf16>, %b: tensor<512x768xf16>) -> tensor<1024x768xf16> {
  %r = kernel.dispatch contraction "f16" (%a, %b) {schedule = #kernel.contraction<simt 64x64x16 stages=2>} : (tensor<1024x512xf16>, tensor<512x768xf16>) -> tensor<1024x768xf16> {
  ^bb0(%0: tensor<1024x512xf16>, %1: tensor<512x768xf16>):
    %h = graph.matmul %0, %1 : (tensor<1024x512xf16>, tensor<512x768xf16>) -> tensor<1024x768xf16>
    kernel.yield %h : tensor<1024x768xf16>
  }
  return %r : tensor<1024x768xf16>
}

// Sums of f64 are f64. The last of the four tiles of k has two of 16 only, and the rest are zeros.
// CHECK-LABEL: llvm.func @k1(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 64
// CHECK-COUNT-2: kernel.shared 9216
// CHECK: scf.for {{.*}} to %c4_i32 step %c1_i32 iter_args
// CHECK: arith.select
// CHECK-COUNT-256: math.fma {{.*}} : f64
// CHECK-NOT: math.fma
// CHECK: kernel.barrier
// CHECK: scf.yield
// CHECK-COUNT-16: llvm.store {{.*}} : f64, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @f64(%a: tensor<64x50xf64>, %b: tensor<50x96xf64>) -> tensor<64x96xf64> {
  %r = kernel.dispatch contraction "f64" (%a, %b) {schedule = #kernel.contraction<simt 32x32x16 stages=2>} : (tensor<64x50xf64>, tensor<50x96xf64>) -> tensor<64x96xf64> {
  ^bb0(%0: tensor<64x50xf64>, %1: tensor<50x96xf64>):
    %h = graph.matmul %0, %1 : (tensor<64x50xf64>, tensor<50x96xf64>) -> tensor<64x96xf64>
    kernel.yield %h : tensor<64x96xf64>
  }
  return %r : tensor<64x96xf64>
}

// Bias and tanh are computed on the sums, in registers. Four neighbours are computed before the first is stored.
// CHECK-LABEL: llvm.func @k2(
// CHECK: scf.for
// CHECK-COUNT-512: math.fma
// CHECK: kernel.barrier
// CHECK-NOT: llvm.store
// CHECK-COUNT-4: math.tanh
// CHECK-NOT: math.tanh
// CHECK-COUNT-4: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: math.tanh
// CHECK: llvm.return
// CHECK-NOT: llvm.func
func.func @epilogue(%a: tensor<256x64xf32>, %b: tensor<128x64xf32>, %bias: tensor<128xf32>) -> tensor<256x128xf32> {
  %r = kernel.dispatch contraction "epilogue" (%a, %b, %bias) {schedule = #kernel.contraction<simt 64x64x16 stages=2>} : (tensor<256x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<256x128xf32> {
  ^bb0(%0: tensor<256x64xf32>, %1: tensor<128x64xf32>, %2: tensor<128xf32>):
    %h = graph.matmul %0, %1 {transpose_b} : (tensor<256x64xf32>, tensor<128x64xf32>) -> tensor<256x128xf32>
    %s = graph.add %h, %2 : (tensor<256x128xf32>, tensor<128xf32>) -> tensor<256x128xf32>
    %m = graph.tanh %s : tensor<256x128xf32>
    kernel.yield %m : tensor<256x128xf32>
  }
  return %r : tensor<256x128xf32>
}
