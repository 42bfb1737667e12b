// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-form-dispatches --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-form-dispatches --split-input-file | FileCheck %s --check-prefix=LIBRARY

// A residual block ends with a bias, the addition of the other branch and a relu, which are all in the product's epilogue.
// CHECK-LABEL: @residual
// CHECK: kernel.dispatch contraction "matmul+add+relu"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NOT: kernel.dispatch
// LIBRARY-LABEL: @residual
// LIBRARY: kernel.dispatch contraction "matmul+add"(
// LIBRARY: kernel.dispatch pointwise "add+relu"(
func.func @residual(%x: tensor<8x16xf16>, %w: tensor<16x32xf16>, %b: tensor<32xf16>, %r: tensor<8x32xf16>) -> tensor<8x32xf16> {
  %0 = graph.matmul %x, %w : (tensor<8x16xf16>, tensor<16x32xf16>) -> tensor<8x32xf16>
  %1 = graph.add %0, %b : (tensor<8x32xf16>, tensor<32xf16>) -> tensor<8x32xf16>
  %2 = graph.add %1, %r : (tensor<8x32xf16>, tensor<8x32xf16>) -> tensor<8x32xf16>
  %3 = graph.relu %2 : tensor<8x32xf16>
  return %3 : tensor<8x32xf16>
}

// -----
// Where two products meet, the sum is computed once, in the epilogue of one of them.
// CHECK-LABEL: @meet
// CHECK: kernel.dispatch contraction "matmul"
// CHECK: kernel.dispatch contraction "matmul+add"
// CHECK-NOT: kernel.dispatch
func.func @meet(%x: tensor<8x16xf16>, %w: tensor<16x32xf16>, %v: tensor<16x32xf16>) -> tensor<8x32xf16> {
  %0 = graph.matmul %x, %w : (tensor<8x16xf16>, tensor<16x32xf16>) -> tensor<8x32xf16>
  %1 = graph.matmul %x, %v : (tensor<8x16xf16>, tensor<16x32xf16>) -> tensor<8x32xf16>
  %2 = graph.add %0, %1 : (tensor<8x32xf16>, tensor<8x32xf16>) -> tensor<8x32xf16>
  return %2 : tensor<8x32xf16>
}

// -----
// A value that another op needs is stored and ends the epilogue, and so does a result of another shape.
// CHECK-LABEL: @wanted
// CHECK: kernel.dispatch contraction "matmul"(
// CHECK: kernel.dispatch pointwise "relu"(
func.func @wanted(%x: tensor<8x16xf16>, %w: tensor<16x32xf16>) -> (tensor<8x32xf16>, tensor<8x32xf16>) {
  %0 = graph.matmul %x, %w : (tensor<8x16xf16>, tensor<16x32xf16>) -> tensor<8x32xf16>
  %1 = graph.relu %0 : tensor<8x32xf16>
  return %0, %1 : tensor<8x32xf16>, tensor<8x32xf16>
}

// -----
// One launch computes an 8-bit factor and its transpose, and reads x once. Libraries use neither, so there the transpose is a launch of its own.
// CHECK-LABEL: @factor
// CHECK: %[[F:.*]]:2 = kernel.dispatch transposed_copy "{{[a-z+]+}}"(%{{.*}}, %{{.*}}) : (tensor<64x32xf16>, tensor<f32>) -> (tensor<64x32xf8E4M3FN>, tensor<32x64xf8E4M3FN>)
// CHECK: graph.transpose
// CHECK: kernel.yield
// CHECK: kernel.dispatch contraction "matmul"(%[[F]]#0
// CHECK: kernel.dispatch contraction "matmul"(%[[F]]#1
// CHECK-NOT: kernel.dispatch
// LIBRARY-LABEL: @factor
// LIBRARY: kernel.dispatch pointwise "transpose"
func.func @factor(%x: tensor<64x32xf16>, %scale: tensor<f32>, %w: tensor<16x32xf8E4M3FN>, %g: tensor<16x64xf8E5M2>) -> (tensor<64x16xf16>, tensor<32x16xf32>) {
  %0 = graph.cast %x : tensor<64x32xf16> to tensor<64x32xf32>
  %1 = graph.mul %0, %scale : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %2 = graph.cast %1 : tensor<64x32xf32> to tensor<64x32xf8E4M3FN>
  %3 = graph.matmul %2, %w {transpose_b} : (tensor<64x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>) -> tensor<64x16xf16>
  %4 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<64x32xf8E4M3FN>) -> tensor<32x64xf8E4M3FN>
  %5 = graph.matmul %4, %g {transpose_b} : (tensor<32x64xf8E4M3FN>, tensor<16x64xf8E5M2>) -> tensor<32x16xf32>
  return %3, %5 : tensor<64x16xf16>, tensor<32x16xf32>
}

// -----
// A transpose computes the arithmetic in front of it on GPUs, too: in the tiles of a transposed copy where the elements are bytes, else in those of the loops. What a product absorbs stays with the product.
// CHECK-LABEL: @transposed_arithmetic
// CHECK: kernel.dispatch transposed_copy "mul+cast+transpose"(%{{.*}}, %{{.*}}) : (tensor<64x32xf32>, tensor<f32>) -> tensor<32x64xf8E4M3FN>
// CHECK: kernel.dispatch pointwise "exp+transpose"
// CHECK: kernel.dispatch contraction "matmul+relu"
// CHECK: kernel.dispatch pointwise "transpose"
// CHECK-NOT: kernel.dispatch
// LIBRARY-LABEL: @transposed_arithmetic
// LIBRARY: kernel.dispatch pointwise "mul+cast+transpose"
// LIBRARY: kernel.dispatch pointwise "exp+transpose"
// LIBRARY: kernel.dispatch contraction "matmul"
// LIBRARY: kernel.dispatch pointwise "relu+transpose"
// LIBRARY-NOT: kernel.dispatch
func.func @transposed_arithmetic(%x: tensor<64x32xf32>, %scale: tensor<f32>, %w: tensor<32x16xf32>) -> (tensor<32x64xf8E4M3FN>, tensor<32x64xf32>, tensor<16x64xf32>) {
  %0 = graph.mul %x, %scale : (tensor<64x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %1 = graph.cast %0 : tensor<64x32xf32> to tensor<64x32xf8E4M3FN>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<64x32xf8E4M3FN>) -> tensor<32x64xf8E4M3FN>
  %3 = graph.exp %x : tensor<64x32xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %5 = graph.matmul %x, %w : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %6 = graph.relu %5 : tensor<64x16xf32>
  %7 = graph.transpose %6 {permutation = array<i64: 1, 0>} : (tensor<64x16xf32>) -> tensor<16x64xf32>
  return %2, %4, %7 : tensor<32x64xf8E4M3FN>, tensor<32x64xf32>, tensor<16x64xf32>
}
