// RUN: mpc-opt %s --mpc-form-dispatches | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-form-dispatches | FileCheck %s --check-prefix=GPU

// A long chain in 16 bits ends in a widening cast that a sum and an op behind it read. On the host the chain is computed once and stored in 16 bits; on a GPU, which waits for memory, both compute it.
// CHECK-LABEL: @chain
// CHECK: %[[STORED:.*]] = kernel.dispatch pointwise "sigmoid+{{.*}}"(%arg0, %arg1) : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
// CHECK: %[[SUM:.*]] = kernel.dispatch reduction "cast+reduce_sum"(%[[STORED]])
// CHECK: kernel.dispatch pointwise "cast+sub"(%[[STORED]], %[[SUM]])
// GPU-LABEL: @chain
// GPU: %[[SUM:.*]] = kernel.dispatch reduction "sigmoid+{{.*}}"(%arg0, %arg1)
// GPU: kernel.dispatch pointwise "sigmoid+{{.*}}"(%arg0, %arg1, %[[SUM]])
func.func @chain(%x: tensor<64x32xbf16>, %dy: tensor<64x32xbf16>) -> tensor<64x32xf32> {
  %0 = graph.sigmoid %x : tensor<64x32xbf16>
  %1 = graph.mul %0, %x : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %2 = graph.tanh %1 : tensor<64x32xbf16>
  %3 = graph.mul %2, %dy : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %4 = graph.exp %3 : tensor<64x32xbf16>
  %5 = graph.mul %4, %dy : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %6 = graph.neg %5 : tensor<64x32xbf16>
  %7 = graph.cast %6 : tensor<64x32xbf16> to tensor<64x32xf32>
  %8 = graph.reduce_sum %7 {axes = array<i64: 0>, keepdims = false} : (tensor<64x32xf32>) -> tensor<32xf32>
  %9 = graph.sub %7, %8 : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  return %9 : tensor<64x32xf32>
}

// What a small slice reads is computed for the slice alone, though two read that.
// CHECK-LABEL: @sample
// CHECK-NOT: kernel.dispatch {{.*}} -> tensor<64x32xf32> {
// CHECK: return
func.func @sample(%x: tensor<64x32xf32>, %dy: tensor<64x32xf32>) -> tensor<64x2xf32> {
  %0 = graph.sigmoid %x : tensor<64x32xf32>
  %1 = graph.mul %0, %x : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = graph.tanh %1 : tensor<64x32xf32>
  %3 = graph.mul %2, %dy : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = graph.exp %3 : tensor<64x32xf32>
  %5 = graph.mul %4, %dy : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %6 = graph.neg %5 : tensor<64x32xf32>
  %7 = graph.slice %6 {starts = array<i64: 0, 0>, sizes = array<i64: 64, 2>, strides = array<i64: 1, 1>} : (tensor<64x32xf32>) -> tensor<64x2xf32>
  %8 = graph.reduce_sum %7 {axes = array<i64: 0>, keepdims = false} : (tensor<64x2xf32>) -> tensor<2xf32>
  %9 = graph.sub %7, %8 : (tensor<64x2xf32>, tensor<2xf32>) -> tensor<64x2xf32>
  return %9 : tensor<64x2xf32>
}
