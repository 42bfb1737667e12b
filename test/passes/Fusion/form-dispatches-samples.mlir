// RUN: mpc-opt %s --mpc-form-dispatches | FileCheck %s

// Each part of a split is a sample, a small slice. What is computed from all of them is computed once, not by each of its users: the sum is stored.
// CHECK-LABEL: @parts
// CHECK: %[[SUM:.*]] = kernel.dispatch pointwise "slice+add"
// CHECK-COUNT-7: graph.add
// CHECK-NOT: graph.add
// CHECK: %[[U:.*]] = kernel.dispatch reduction "reduce_sum"(%[[SUM]])
// CHECK: kernel.dispatch pointwise "mul"(%[[SUM]], %[[U]])
func.func @parts(%x: tensor<64xf32>) -> tensor<8xf32> {
  %0 = graph.slice %x {starts = array<i64: 0>, sizes = array<i64: 8>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<8xf32>
  %1 = graph.slice %x {starts = array<i64: 8>, sizes = array<i64: 8>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<8xf32>
  %2 = graph.slice %x {starts = array<i64: 16>, sizes = array<i64: 8>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<8xf32>
  %3 = graph.slice %x {starts = array<i64: 24>, sizes = array<i64: 8>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<8xf32>
  %4 = graph.slice %x {starts = array<i64: 32>, sizes = array<i64: 8>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<8xf32>
  %5 = graph.slice %x {starts = array<i64: 40>, sizes = array<i64: 8>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<8xf32>
  %6 = graph.slice %x {starts = array<i64: 48>, sizes = array<i64: 8>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<8xf32>
  %7 = graph.slice %x {starts = array<i64: 56>, sizes = array<i64: 8>, strides = array<i64: 1>} : (tensor<64xf32>) -> tensor<8xf32>
  %a = graph.add %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = graph.add %a, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = graph.add %b, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %d = graph.add %c, %4 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %e = graph.add %d, %5 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %f = graph.add %e, %6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %sum = graph.add %f, %7 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %u = graph.reduce_sum %sum {axes = array<i64: 0>, keepdims = false} : (tensor<8xf32>) -> tensor<f32>
  %v = graph.mul %sum, %u : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %v : tensor<8xf32>
}

// The median of three samples reads some of them twice, but loads each once: the sums of a batch norm compute it themselves.
// CHECK-LABEL: @median
// CHECK: kernel.dispatch reduction "slice+cast+min+max+..."(%arg0)
// CHECK-NOT: kernel.dispatch
// CHECK: return
func.func @median(%x: tensor<8x16xbf16>) -> tensor<16xf32> {
  %0 = graph.slice %x {starts = array<i64: 2, 0>, sizes = array<i64: 1, 16>, strides = array<i64: 1, 1>} : (tensor<8x16xbf16>) -> tensor<1x16xbf16>
  %1 = graph.slice %x {starts = array<i64: 4, 0>, sizes = array<i64: 1, 16>, strides = array<i64: 1, 1>} : (tensor<8x16xbf16>) -> tensor<1x16xbf16>
  %2 = graph.slice %x {starts = array<i64: 6, 0>, sizes = array<i64: 1, 16>, strides = array<i64: 1, 1>} : (tensor<8x16xbf16>) -> tensor<1x16xbf16>
  %a = graph.cast %0 : tensor<1x16xbf16> to tensor<1x16xf32>
  %b = graph.cast %1 : tensor<1x16xbf16> to tensor<1x16xf32>
  %c = graph.cast %2 : tensor<1x16xbf16> to tensor<1x16xf32>
  %low = graph.min %a, %b : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %high = graph.max %a, %b : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %upper = graph.min %high, %c : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %median = graph.max %low, %upper : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %wide = graph.cast %x : tensor<8x16xbf16> to tensor<8x16xf32>
  %d = graph.sub %wide, %median : (tensor<8x16xf32>, tensor<1x16xf32>) -> tensor<8x16xf32>
  %sum = graph.reduce_sum %d {axes = array<i64: 0>, keepdims = false} : (tensor<8x16xf32>) -> tensor<16xf32>
  return %sum : tensor<16xf32>
}
