// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-form-dispatches --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-form-dispatches --split-input-file | FileCheck %s --check-prefix=HOPPER
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

// -----
// The gradient of a norm sums the columns of a product's result and of its products with another tensor. The product's launch adds them, and stores the result beside them; arithmetic on the sums is a launch of its own.
// CHECK-LABEL: @columns
// CHECK: %[[P:.*]]:3 = kernel.dispatch contraction "{{.*}}"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<8192x64xbf16>, tensor<64x128xbf16>, tensor<8192x128xbf16>, tensor<128xf32>) -> (tensor<8192x128xbf16>, tensor<128xf32>, tensor<128xf32>)
// CHECK: kernel.dispatch pointwise "{{.*}}"(%[[P]]#{{[12]}}, %[[P]]#{{[12]}})
// CHECK-NOT: kernel.dispatch
// LIBRARY-LABEL: @columns
// LIBRARY: kernel.dispatch contraction "matmul"(
// LIBRARY: kernel.dispatch reduction
func.func @columns(%g: tensor<8192x64xbf16>, %w: tensor<64x128xbf16>, %x: tensor<8192x128xbf16>, %mean: tensor<128xf32>) -> (tensor<8192x128xbf16>, tensor<128xf32>) {
  %dy = graph.matmul %g, %w : (tensor<8192x64xbf16>, tensor<64x128xbf16>) -> tensor<8192x128xbf16>
  %0 = graph.cast %dy : tensor<8192x128xbf16> to tensor<8192x128xf32>
  %1 = graph.cast %x : tensor<8192x128xbf16> to tensor<8192x128xf32>
  %2 = graph.sub %1, %mean : (tensor<8192x128xf32>, tensor<128xf32>) -> tensor<8192x128xf32>
  %3 = graph.mul %0, %2 : (tensor<8192x128xf32>, tensor<8192x128xf32>) -> tensor<8192x128xf32>
  %4 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x128xf32>) -> tensor<128xf32>
  %5 = graph.reduce_sum %3 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x128xf32>) -> tensor<128xf32>
  %6 = graph.mul %4, %5 : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  return %dy, %6 : tensor<8192x128xbf16>, tensor<128xf32>
}

// -----
// The statistics of a batch norm in bf16 are sums of a convolution's own result, of however many rows: its launch adds them.
// CHECK-LABEL: @statistics
// CHECK: kernel.dispatch contraction "{{.*}}"({{.*}}) : (tensor<64x112x112x16xbf16>, tensor<32x1x1x16xbf16>) -> (tensor<64x112x112x32xbf16>, tensor<32xf32>, tensor<32xf32>)
// CHECK-NOT: kernel.dispatch
// HOPPER-LABEL: @statistics
// HOPPER: kernel.dispatch contraction "{{.*}}"({{.*}}) : (tensor<64x112x112x16xbf16>, tensor<32x1x1x16xbf16>) -> (tensor<64x112x112x32xbf16>, tensor<32xf32>, tensor<32xf32>)
func.func @statistics(%x: tensor<64x112x112x16xbf16>, %w: tensor<32x1x1x16xbf16>) -> (tensor<64x112x112x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %y = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, layout = #graph<layout channels_last>, pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>, strides = array<i64: 1, 1>, weight_channels_last} : (tensor<64x112x112x16xbf16>, tensor<32x1x1x16xbf16>) -> tensor<64x112x112x32xbf16>
  %0 = graph.cast %y : tensor<64x112x112x32xbf16> to tensor<64x112x112x32xf32>
  %1 = graph.mul %0, %0 : (tensor<64x112x112x32xf32>, tensor<64x112x112x32xf32>) -> tensor<64x112x112x32xf32>
  %2 = graph.reduce_sum %0 {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<64x112x112x32xf32>) -> tensor<32xf32>
  %3 = graph.reduce_sum %1 {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<64x112x112x32xf32>) -> tensor<32xf32>
  return %y, %2, %3 : tensor<64x112x112x32xbf16>, tensor<32xf32>, tensor<32xf32>
}

// -----
// Sums over other dimensions, of few tiles, and of values that are read at other places are launches of their own.
// CHECK-LABEL: @other_sums
// CHECK: kernel.dispatch contraction "matmul"({{.*}}) -> tensor<8192x128xbf16>
// CHECK: kernel.dispatch contraction "matmul"({{.*}}) -> tensor<64x128xbf16>
// CHECK-NOT: kernel.dispatch contraction
func.func @other_sums(%g: tensor<8192x64xbf16>, %w: tensor<64x128xbf16>, %s: tensor<64x64xbf16>) -> (tensor<8192xbf16>, tensor<128xbf16>, tensor<128xbf16>) {
  %0 = graph.matmul %g, %w : (tensor<8192x64xbf16>, tensor<64x128xbf16>) -> tensor<8192x128xbf16>
  %1 = graph.reduce_sum %0 {axes = array<i64: 1>, keepdims = false} : (tensor<8192x128xbf16>) -> tensor<8192xbf16>
  %2 = graph.slice %0 {starts = array<i64: 0, 0>, sizes = array<i64: 1, 128>, strides = array<i64: 1, 1>} : (tensor<8192x128xbf16>) -> tensor<1x128xbf16>
  %3 = graph.sub %0, %2 : (tensor<8192x128xbf16>, tensor<1x128xbf16>) -> tensor<8192x128xbf16>
  %4 = graph.reduce_sum %3 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x128xbf16>) -> tensor<128xbf16>
  %5 = graph.matmul %s, %w : (tensor<64x64xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %6 = graph.reduce_sum %5 {axes = array<i64: 0>, keepdims = false} : (tensor<64x128xbf16>) -> tensor<128xbf16>
  return %1, %4, %6 : tensor<8192xbf16>, tensor<128xbf16>, tensor<128xbf16>
}

// -----
// A sum that reads another sum of the same product needs all of its tiles, so it is a launch of its own.
// CHECK-LABEL: @sum_of_sum
// CHECK: %[[P:.*]]:2 = kernel.dispatch contraction "{{.*}}"({{.*}}) -> (tensor<8192x256xbf16>, tensor<1x256xf32>)
// CHECK: kernel.dispatch reduction "{{.*}}"({{.*}}%[[P]]#{{[01]}}{{.*}}) -> tensor<256xf32>
func.func @sum_of_sum(%g: tensor<8192x64xbf16>, %w: tensor<64x256xbf16>) -> (tensor<8192x256xbf16>, tensor<256xf32>) {
  %y = graph.matmul %g, %w : (tensor<8192x64xbf16>, tensor<64x256xbf16>) -> tensor<8192x256xbf16>
  %0 = graph.cast %y : tensor<8192x256xbf16> to tensor<8192x256xf32>
  %1 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = true} : (tensor<8192x256xf32>) -> tensor<1x256xf32>
  %2 = graph.div %0, %1 : (tensor<8192x256xf32>, tensor<1x256xf32>) -> tensor<8192x256xf32>
  %3 = graph.reduce_sum %2 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x256xf32>) -> tensor<256xf32>
  return %y, %3 : tensor<8192x256xbf16>, tensor<256xf32>
}

// -----
// A launch adds up to four sums: each thread has registers for them.
// CHECK-LABEL: @many_sums
// CHECK: kernel.dispatch contraction "{{.*}}"({{.*}}) -> (tensor<8192x256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>)
// CHECK: kernel.dispatch reduction "{{.*}}"({{.*}}) -> tensor<256xf32>
// CHECK-NOT: kernel.dispatch
func.func @many_sums(%g: tensor<8192x64xbf16>, %w: tensor<64x256xbf16>, %a: tensor<8192x256xf32>, %b: tensor<8192x256xf32>, %c: tensor<8192x256xf32>, %d: tensor<8192x256xf32>, %e: tensor<8192x256xf32>) -> (tensor<8192x256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) {
  %y = graph.matmul %g, %w : (tensor<8192x64xbf16>, tensor<64x256xbf16>) -> tensor<8192x256xbf16>
  %0 = graph.cast %y : tensor<8192x256xbf16> to tensor<8192x256xf32>
  %1 = graph.mul %0, %a : (tensor<8192x256xf32>, tensor<8192x256xf32>) -> tensor<8192x256xf32>
  %2 = graph.mul %0, %b : (tensor<8192x256xf32>, tensor<8192x256xf32>) -> tensor<8192x256xf32>
  %3 = graph.mul %0, %c : (tensor<8192x256xf32>, tensor<8192x256xf32>) -> tensor<8192x256xf32>
  %4 = graph.mul %0, %d : (tensor<8192x256xf32>, tensor<8192x256xf32>) -> tensor<8192x256xf32>
  %5 = graph.mul %0, %e : (tensor<8192x256xf32>, tensor<8192x256xf32>) -> tensor<8192x256xf32>
  %6 = graph.reduce_sum %1 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x256xf32>) -> tensor<256xf32>
  %7 = graph.reduce_sum %2 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x256xf32>) -> tensor<256xf32>
  %8 = graph.reduce_sum %3 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x256xf32>) -> tensor<256xf32>
  %9 = graph.reduce_sum %4 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x256xf32>) -> tensor<256xf32>
  %10 = graph.reduce_sum %5 {axes = array<i64: 0>, keepdims = false} : (tensor<8192x256xf32>) -> tensor<256xf32>
  return %y, %6, %7, %8, %9, %10 : tensor<8192x256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}

// -----
// Arithmetic in f32 behind a product in bf16 joins it where its result is bf16 again: the gradient of an activation. Where the wide value would be stored, it does not: the product's own is half as large.
// CHECK-LABEL: @widened
// CHECK: kernel.dispatch contraction "{{.*}}"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<8x16xbf16>, tensor<16x32xbf16>, tensor<8x32xbf16>) -> tensor<8x32xbf16>
// CHECK: kernel.dispatch contraction "matmul"({{.*}}) -> tensor<8x16xbf16>
// CHECK: kernel.dispatch contraction "matmul"({{.*}}) -> tensor<8x32xbf16>
// CHECK: kernel.dispatch pointwise "cast+add"({{.*}}) -> tensor<8x32xf32>
// CHECK-NOT: kernel.dispatch
// LIBRARY-LABEL: @widened
// LIBRARY: kernel.dispatch contraction "matmul"
// LIBRARY: kernel.dispatch pointwise
func.func @widened(%g: tensor<8x16xbf16>, %w: tensor<16x32xbf16>, %x: tensor<8x32xbf16>, %r: tensor<8x32xf32>) -> (tensor<8x32xbf16>, tensor<8x32xf32>) {
  %0 = graph.matmul %g, %w : (tensor<8x16xbf16>, tensor<16x32xbf16>) -> tensor<8x32xbf16>
  %1 = graph.cast %x : tensor<8x32xbf16> to tensor<8x32xf32>
  %2 = graph.normal_cdf %1 : tensor<8x32xf32>
  %3 = graph.cast %0 : tensor<8x32xbf16> to tensor<8x32xf32>
  %4 = graph.mul %3, %2 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %5 = graph.cast %4 : tensor<8x32xf32> to tensor<8x32xbf16>
  %6 = graph.matmul %x, %w {transpose_b} : (tensor<8x32xbf16>, tensor<16x32xbf16>) -> tensor<8x16xbf16>
  %7 = graph.matmul %6, %w : (tensor<8x16xbf16>, tensor<16x32xbf16>) -> tensor<8x32xbf16>
  %8 = graph.cast %7 : tensor<8x32xbf16> to tensor<8x32xf32>
  %9 = graph.add %8, %r : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %5, %9 : tensor<8x32xbf16>, tensor<8x32xf32>
}

// -----
// The launch of a product stores the GELU of its result besides, for the next product: the gradient needs both. Arithmetic that no product reads, that reads another tensor, or that draws random numbers
// stays in launches of its own, as all are beside a library.
// CHECK-LABEL: @besides
// CHECK: %[[P:.*]]:2 = kernel.dispatch contraction "matmul+add+sigmoid+mul"(%{{.*}}, %{{.*}}, %{{.*}}) : {{.*}} -> (tensor<64x128xbf16>, tensor<64x128xbf16>)
// CHECK: kernel.dispatch contraction "matmul"(%[[P]]#1
// CHECK: return %[[P]]#0
// HOPPER-LABEL: @besides
// HOPPER: %[[P:.*]]:2 = kernel.dispatch contraction "matmul+add+sigmoid+mul"(%{{.*}}, %{{.*}}, %{{.*}}) : {{.*}} -> (tensor<64x128xbf16>, tensor<64x128xbf16>)
// HOPPER: kernel.dispatch contraction "matmul"(%[[P]]#1
// HOPPER: return %[[P]]#0
// LIBRARY-LABEL: @besides
// LIBRARY: kernel.dispatch contraction "matmul+add"
// LIBRARY: kernel.dispatch pointwise "sigmoid+mul"
// LIBRARY: kernel.dispatch contraction "matmul"
func.func @besides(%x: tensor<64x32xbf16>, %w: tensor<32x128xbf16>, %b: tensor<128xbf16>, %v: tensor<128x32xbf16>) -> (tensor<64x128xbf16>, tensor<64x32xbf16>) {
  %0 = graph.matmul %x, %w : (tensor<64x32xbf16>, tensor<32x128xbf16>) -> tensor<64x128xbf16>
  %1 = graph.add %0, %b : (tensor<64x128xbf16>, tensor<128xbf16>) -> tensor<64x128xbf16>
  %2 = graph.sigmoid %1 : tensor<64x128xbf16>
  %3 = graph.mul %1, %2 : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %4 = graph.matmul %3, %v : (tensor<64x128xbf16>, tensor<128x32xbf16>) -> tensor<64x32xbf16>
  return %1, %4 : tensor<64x128xbf16>, tensor<64x32xbf16>
}

// CHECK-LABEL: @not_besides
// CHECK: kernel.dispatch contraction "matmul"(
// CHECK: kernel.dispatch pointwise "mul+dropout+sigmoid"(
// CHECK: kernel.dispatch contraction "matmul"(
// CHECK: kernel.dispatch contraction "matmul"(
func.func @not_besides(%x: tensor<64x32xbf16>, %w: tensor<32x128xbf16>, %g: tensor<64x128xbf16>, %s: tensor<i64>, %v: tensor<128x32xbf16>) -> (tensor<64x128xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x128xbf16>) {
  %0 = graph.matmul %x, %w : (tensor<64x32xbf16>, tensor<32x128xbf16>) -> tensor<64x128xbf16>
  %1 = graph.mul %0, %g : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %2 = graph.matmul %1, %v : (tensor<64x128xbf16>, tensor<128x32xbf16>) -> tensor<64x32xbf16>
  %3 = graph.dropout %0, %s, %s {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<64x128xbf16>, tensor<i64>, tensor<i64>) -> tensor<64x128xbf16>
  %4 = graph.matmul %3, %v : (tensor<64x128xbf16>, tensor<128x32xbf16>) -> tensor<64x32xbf16>
  %5 = graph.sigmoid %0 : tensor<64x128xbf16>
  return %0, %2, %4, %5 : tensor<64x128xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x128xbf16>
}
