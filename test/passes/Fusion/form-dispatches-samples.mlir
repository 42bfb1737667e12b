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
