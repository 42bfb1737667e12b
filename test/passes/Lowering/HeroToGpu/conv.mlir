// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-emit-kernels --canonicalize --cse | FileCheck %s

// CHECK: kernel.dispatch contraction "input"{{.*}}launches = [#kernel.launch<@kernels0::@k0 grid = 116, 1, 1 args = 1, 0, 2>]
// CHECK: kernel.dispatch contraction "weight"{{.*}}launches = [#kernel.launch<@kernels0::@k1 grid = 20, 1, 1 args = 1, 0, -1>, #kernel.launch<@kernels0::@k1_reduce grid = 18, 1, 1 args = -1, 2>]
// CHECK: kernel.dispatch contraction "groups"{{.*}}launches = [#kernel.launch<@kernels0::@k2 grid = 100, 1, 1 args = 0, 1, 2>]

// With strides of 2 only 2 x 2 of the 3 x 3 taps reach a position, at most: four products of 256 k, in tiles of 32, instead of one of 576. A is dy, and the weights
// are read across their rows, so they are transposed. The loop divides by nothing.
// CHECK-LABEL: llvm.func @k0(
// CHECK: scf.for {{.*}} to %c8_i32 step %c1_i32 iter_args
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK: kernel.copy_async_wait 2
// CHECK-NEXT: kernel.barrier
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK-COUNT-4: kernel.copy_async %{{.*}}, %{{.*}}, 16 valid %{{.*}}
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} : i32, i32, i32, i32
// CHECK-COUNT-2: kernel.load_matrix %{{[0-9]+}} {transpose} : i32, i32, i32, i32
// CHECK-COUNT-16: kernel.mma f16 16
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK: scf.yield
// CHECK: kernel.copy_async_wait 0
// Positions of a phase that are outside of x are not stored.
// CHECK: scf.if
// CHECK-COUNT-8: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.return
func.func @input(%w: tensor<64x3x3x32xf16>, %dy: tensor<8x14x14x64xf16>) -> tensor<8x28x28x32xf16> {
  %r = kernel.dispatch contraction "input" (%w, %dy) {schedule = #kernel.contraction<mma 64x64x32 stages=4>} : (tensor<64x3x3x32xf16>, tensor<8x14x14x64xf16>) -> tensor<8x28x28x32xf16> {
  ^bb0(%0: tensor<64x3x3x32xf16>, %1: tensor<8x14x14x64xf16>):
    %h = graph.conv_input_grad %1, %0 {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 0, 0>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<8x14x14x64xf16>, tensor<64x3x3x32xf16>) -> tensor<8x28x28x32xf16>
    kernel.yield %h : tensor<8x28x28x32xf16>
  }
  return %r : tensor<8x28x28x32xf16>
}

// The sum is over images and positions, along which neither operand is contiguous: both are transposed. dy is always inside, and x has padding. Four parts of the
// sum go to scratch.
// CHECK-LABEL: llvm.func @k1(
// CHECK: scf.for
// CHECK: kernel.copy_async_wait 2
// CHECK-COUNT-2: kernel.copy_async %{{.*}}, %{{.*}}, 16{{$}}
// CHECK-COUNT-2: kernel.copy_async %{{.*}}, %{{.*}}, 16 valid %{{.*}}
// CHECK-NOT: kernel.load_matrix %{{[0-9]+}} :
// CHECK-COUNT-4: kernel.load_matrix %{{[0-9]+}} {transpose} : i32, i32, i32, i32
// CHECK-COUNT-8: kernel.mma f16 16
// CHECK-NOT: kernel.load_matrix %{{[0-9]+}} :
// CHECK-COUNT-4: kernel.load_matrix %{{[0-9]+}} {transpose} : i32, i32, i32, i32
// CHECK-COUNT-8: kernel.mma f16 16
// CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<1>
// CHECK: llvm.return
// CHECK-LABEL: llvm.func @k1_reduce(
// CHECK: scf.for {{.*}} to %c4_i32 step %c1_i32 iter_args
// CHECK-COUNT-4: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.return
func.func @weight(%x: tensor<8x28x28x32xf16>, %dy: tensor<8x28x28x64xf16>) -> tensor<64x3x3x32xf16> {
  %r = kernel.dispatch contraction "weight" (%x, %dy) {schedule = #kernel.contraction<mma 64x64x32 stages=4 splits=4>, scratch_bytes = 294912 : i64} : (tensor<8x28x28x32xf16>, tensor<8x28x28x64xf16>) -> tensor<64x3x3x32xf16> {
  ^bb0(%0: tensor<8x28x28x32xf16>, %1: tensor<8x28x28x64xf16>):
    %h = graph.conv_weight_grad %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<8x28x28x32xf16>, tensor<8x28x28x64xf16>) -> tensor<64x3x3x32xf16>
    kernel.yield %h : tensor<64x3x3x32xf16>
  }
  return %r : tensor<64x3x3x32xf16>
}

// A group is a matrix of its own: 25 tiles of positions for each of the four, and 9 x 16 of k in five tiles, the last of them half empty.
// CHECK-LABEL: llvm.func @k2(
// CHECK: scf.for {{.*}} to %c5_i32 step %c1_i32 iter_args
// CHECK: kernel.copy_async_wait 2
// CHECK-COUNT-4: kernel.copy_async %{{.*}}, %{{.*}}, 16 valid %{{.*}}
// CHECK-NOT: transpose
// CHECK-COUNT-16: kernel.mma f16 16
// CHECK: scf.if
// CHECK-COUNT-8: llvm.store {{.*}} : f16, !llvm.ptr<1>
// CHECK: llvm.return
func.func @groups(%x: tensor<8x14x14x64xf16>, %w: tensor<64x3x3x16xf16>) -> tensor<8x14x14x64xf16> {
  %r = kernel.dispatch contraction "groups" (%x, %w) {schedule = #kernel.contraction<mma 64x64x32 stages=4>} : (tensor<8x14x14x64xf16>, tensor<64x3x3x16xf16>) -> tensor<8x14x14x64xf16> {
  ^bb0(%0: tensor<8x14x14x64xf16>, %1: tensor<64x3x3x16xf16>):
    %h = graph.conv %0, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 4 : i64, layout = #graph<layout channels_last>, weight_channels_last} : (tensor<8x14x14x64xf16>, tensor<64x3x3x16xf16>) -> tensor<8x14x14x64xf16>
    kernel.yield %h : tensor<8x14x14x64xf16>
  }
  return %r : tensor<8x14x14x64xf16>
}
