// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch contraction "gemm"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 192, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch contraction "split"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 16, 1, 1 args = 0, 1, -1>, #kernel.launch<@kernels0::@k1_reduce grid = 6, 1, 1 args = -1, 2, 3>]
// CHECK: kernel.dispatch contraction "conv"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 25, 1, 1 args = 0, 1, 2>]
// CHECK: kernel.dispatch contraction "odd"{{.*}}launches = [#kernel.launch<@kernels0::@k3 grid = 2, 1, 1 args = 0, 1, 2>]

// The ring has four tiles of 32 k. Three are under way before the loop; in the loop the third tile after the one that is multiplied is started, behind the
// barrier that says that all warps have read its place. B is contiguous along its columns, so its matrices are transposed where they are loaded.
// CHECK-LABEL: llvm.func @k0(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 128
// CHECK: kernel.shared 32768 {alignment = 128 : i64}
// CHECK-NOT: kernel.barrier
// CHECK-COUNT-4: kernel.copy_async %{{.*}}, %{{.*}}, 16{{$}}
// CHECK-COUNT-3: kernel.copy_async_commit
// CHECK-NOT: kernel.copy_async
// CHECK: scf.for {{.*}} to %c16_i32 step %c1_i32 iter_args
// CHECK-NEXT: kernel.copy_async_wait 2
// CHECK-NEXT: kernel.barrier
// CHECK: scf.if
// CHECK-COUNT-4: kernel.copy_async %{{.*}}, %{{.*}}, 16{{$}}
// CHECK-NEXT: }
// CHECK-NEXT: kernel.copy_async_commit
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} : i32, i32, i32, i32
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} {transpose} : i32, i32, i32, i32
// CHECK-COUNT-8: kernel.mma f16 16
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} : i32, i32, i32, i32
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} {transpose} : i32, i32, i32, i32
// CHECK-COUNT-8: kernel.mma f16 16
// CHECK-NOT: kernel.
// CHECK: scf.yield
// Then every warp passes its sums through the ring's memory, 16 rows at a time, and stores eight neighbours of a row.
// CHECK: kernel.copy_async_wait 0
// CHECK-NEXT: kernel.barrier
// CHECK-NOT: kernel.barrier
// CHECK-COUNT-8: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK-NEXT: kernel.warp_sync
// CHECK: scf.for
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: scf.if
// CHECK-COUNT-8: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: kernel.warp_sync
// CHECK-COUNT-8: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<3>
// CHECK-NEXT: kernel.warp_sync
// CHECK: llvm.return
func.func @gemm(%a: tensor<1024x512xf16>, %b: tensor<512x768xf16>) -> tensor<1024x768xf16> {
  %r = kernel.dispatch contraction "gemm" (%a, %b) {schedule = #kernel.contraction<mma 64x64x32 stages=4>} : (tensor<1024x512xf16>, tensor<512x768xf16>) -> tensor<1024x768xf16> {
  ^bb0(%0: tensor<1024x512xf16>, %1: tensor<512x768xf16>):
    %h = graph.matmul %0, %1 : (tensor<1024x512xf16>, tensor<512x768xf16>) -> tensor<1024x768xf16>
    kernel.yield %h : tensor<1024x768xf16>
  }
  return %r : tensor<1024x768xf16>
}

// Eight blocks each sum an eighth of k for one tile. They store f32 into scratch, which the second kernel sums; bias and relu are computed there, once. B is
// contiguous along k, so nothing is transposed, and the rows of B's last tile that do not exist are copied as zeros.
// CHECK-LABEL: llvm.func @k1(
// CHECK-NOT: llvm.readonly}) attributes
// CHECK-COUNT-2: kernel.copy_async %{{.*}}, %{{.*}}, 16{{$}}
// CHECK-COUNT-2: kernel.copy_async %{{.*}}, %{{.*}}, 16 valid %{{.*}}
// CHECK: scf.for %{{.*}} = %[[FIRST:[0-9]+]] to %[[LAST:[0-9]+]] step %c1_i32 iter_args
// CHECK-NOT: transpose
// CHECK-COUNT-16: kernel.mma bf16 16
// CHECK-NOT: arith.maximumf
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK-NOT: i16, !llvm.ptr<1>
// CHECK: llvm.return
// CHECK-LABEL: llvm.func @k1_reduce(
// CHECK-SAME: kernel.entry = #kernel.entry<threads = 256
// CHECK: scf.for {{.*}} to %c8_i32 step %c1_i32 iter_args
// CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-COUNT-4: arith.addf
// CHECK: scf.yield
// CHECK-COUNT-4: arith.maximumf
// CHECK-COUNT-4: llvm.store {{.*}} : i16, !llvm.ptr<1>
// CHECK-NOT: kernel.barrier
// CHECK: llvm.return
func.func @split(%a: tensor<64x4096xbf16>, %b: tensor<96x4096xbf16>, %bias: tensor<96xbf16>) -> tensor<64x96xbf16> {
  %r = kernel.dispatch contraction "split" (%a, %b, %bias) {schedule = #kernel.contraction<mma 64x64x32 stages=4 splits=8>, scratch_bytes = 196608 : i64} : (tensor<64x4096xbf16>, tensor<96x4096xbf16>, tensor<96xbf16>) -> tensor<64x96xbf16> {
  ^bb0(%0: tensor<64x4096xbf16>, %1: tensor<96x4096xbf16>, %2: tensor<96xbf16>):
    %h = graph.matmul %0, %1 {transpose_b} : (tensor<64x4096xbf16>, tensor<96x4096xbf16>) -> tensor<64x96xbf16>
    %s = graph.add %h, %2 : (tensor<64x96xbf16>, tensor<96xbf16>) -> tensor<64x96xbf16>
    %m = graph.relu %s : tensor<64x96xbf16>
    kernel.yield %m : tensor<64x96xbf16>
  }
  return %r : tensor<64x96xbf16>
}

// A convolution is a product over 3 x 3 taps of 64 channels, 18 tiles of k. The padding is copied as zeros, and the loop divides by nothing.
// CHECK-LABEL: llvm.func @k2(
// CHECK: scf.for {{.*}} to %c18_i32 step %c1_i32 iter_args
// CHECK-NOT: arith.div
// CHECK-NOT: arith.rem
// CHECK: kernel.copy_async_wait 2
// CHECK-COUNT-2: kernel.copy_async %{{.*}}, %{{.*}}, 16 valid %{{.*}}
// CHECK-COUNT-2: kernel.copy_async %{{.*}}, %{{.*}}, 16{{$}}
// CHECK-COUNT-16: kernel.mma f16 16
// CHECK: scf.yield
// CHECK: llvm.return
func.func @conv(%x: tensor<8x14x14x64xf16>, %w: tensor<64x3x3x64xf16>) -> tensor<8x14x14x64xf16> {
  %r = kernel.dispatch contraction "conv" (%x, %w) {schedule = #kernel.contraction<mma 64x64x32 stages=4>} : (tensor<8x14x14x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x14x14x64xf16> {
  ^bb0(%0: tensor<8x14x14x64xf16>, %1: tensor<64x3x3x64xf16>):
    %h = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<8x14x14x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x14x14x64xf16>
    kernel.yield %h : tensor<8x14x14x64xf16>
  }
  return %r : tensor<8x14x14x64xf16>
}

// Rows of 77 f16 are not aligned to 4 bytes, which a copy needs, so A passes through registers: it is loaded before the products and put into the ring behind
// them. B's rows of 50 are copied in 4 bytes. Results in the tail are stored where they exist.
// CHECK-LABEL: llvm.func @k3(
// CHECK: kernel.shared 16384
// CHECK: scf.for {{.*}} to %c3_i32 step %c1_i32 iter_args
// CHECK-NEXT: kernel.copy_async_wait 0
// CHECK-NEXT: kernel.barrier
// CHECK-COUNT-8: kernel.copy_async %{{.*}}, %{{.*}}, 4 valid %{{.*}}
// CHECK: kernel.copy_async_commit
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<1> -> i16
// CHECK-COUNT-16: kernel.mma f16 16
// CHECK-COUNT-16: llvm.store {{.*}} : i16, !llvm.ptr<3>
// CHECK: scf.yield
// CHECK: scf.if
// CHECK-COUNT-2: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.return
// CHECK-NOT: llvm.func
func.func @odd(%a: tensor<100x77xf16>, %b: tensor<77x50xf16>) -> tensor<100x50xf16> {
  %r = kernel.dispatch contraction "odd" (%a, %b) {schedule = #kernel.contraction<mma 64x64x32 stages=2>} : (tensor<100x77xf16>, tensor<77x50xf16>) -> tensor<100x50xf16> {
  ^bb0(%0: tensor<100x77xf16>, %1: tensor<77x50xf16>):
    %h = graph.matmul %0, %1 : (tensor<100x77xf16>, tensor<77x50xf16>) -> tensor<100x50xf16>
    kernel.yield %h : tensor<100x50xf16>
  }
  return %r : tensor<100x50xf16>
}
