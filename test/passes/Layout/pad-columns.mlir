// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-pad-columns=least-work=1 --canonicalize --cse | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-pad-columns | FileCheck %s --check-prefix=SMALL

// Thirteen classes become sixteen, with a bias, from the logits to the two products of their gradient. The loss and the softmax read -inf in the three, the products zeros, the sum of the logits reads the thirteen, and the
// gradient of the weights has thirteen rows.
// CHECK-LABEL: @classes
// CHECK-DAG: %[[W:.*]] = graph.pad %arg1 {high = array<i64: 3, 0>, {{.*}} -> tensor<16x8xbf16>
// CHECK-DAG: %[[B:.*]] = graph.pad %arg2 {high = array<i64: 3>, {{.*}} -> tensor<16xbf16>
// CHECK: %[[Y:.*]] = graph.matmul %arg0, %[[W]] {transpose_b} : (tensor<2x3x8xbf16>, tensor<16x8xbf16>) -> tensor<2x3x16xbf16>
// CHECK: %[[Z:.*]] = graph.add %[[Y]], %[[B]]
// CHECK: graph.slice {{.*}} -> tensor<6x13xf32>
// CHECK: graph.softmax_cross_entropy %{{.*}} : (tensor<6x16xf32>, tensor<6xi64>) -> tensor<f32>
// CHECK: graph.softmax %{{.*}} : tensor<6x16xf32>
// CHECK: graph.matmul %{{.*}}, %[[W]] : (tensor<2x3x16xbf16>, tensor<16x8xbf16>) -> tensor<2x3x8xbf16>
// CHECK: %[[DW:.*]] = graph.matmul %{{.*}} {transpose_a} : (tensor<6x16xbf16>, tensor<6x8xbf16>) -> tensor<16x8xbf16>
// CHECK: graph.slice %[[DW]] {sizes = array<i64: 13, 8>, {{.*}} -> tensor<13x8xbf16>
// SMALL-LABEL: @classes
// SMALL-NOT: graph.pad
func.func @classes(%x: tensor<2x3x8xbf16>, %w: tensor<13x8xbf16>, %bias: tensor<13xbf16>, %labels: tensor<6xi64>) -> (tensor<f32>, tensor<2x3x8xbf16>, tensor<13x8xbf16>, tensor<6xf32>) {
  %y = graph.matmul %x, %w {transpose_b} : (tensor<2x3x8xbf16>, tensor<13x8xbf16>) -> tensor<2x3x13xbf16>
  %z = graph.add %y, %bias : (tensor<2x3x13xbf16>, tensor<13xbf16>) -> tensor<2x3x13xbf16>
  %f = graph.cast %z : tensor<2x3x13xbf16> to tensor<2x3x13xf32>
  %logits = graph.reshape %f : tensor<2x3x13xf32> to tensor<6x13xf32>
  %sum = graph.reduce_sum %logits {axes = array<i64: 1>, keepdims = false} : (tensor<6x13xf32>) -> tensor<6xf32>
  %loss = graph.softmax_cross_entropy %logits, %labels {reduction = #graph<reduction mean>} : (tensor<6x13xf32>, tensor<6xi64>) -> tensor<f32>
  %p = graph.softmax %logits {axis = 1 : i64} : tensor<6x13xf32>
  %class = graph.iota {axis = 1 : i64} : tensor<1x13xi64>
  %label = graph.reshape %labels : tensor<6xi64> to tensor<6x1xi64>
  %is = graph.compare eq %label, %class : (tensor<6x1xi64>, tensor<1x13xi64>) -> tensor<6x13xi1>
  %one = graph.cast %is : tensor<6x13xi1> to tensor<6x13xf32>
  %d = graph.sub %p, %one : (tensor<6x13xf32>, tensor<6x13xf32>) -> tensor<6x13xf32>
  %low = graph.cast %d : tensor<6x13xf32> to tensor<6x13xbf16>
  %dy = graph.reshape %low : tensor<6x13xbf16> to tensor<2x3x13xbf16>
  %dx = graph.matmul %dy, %w : (tensor<2x3x13xbf16>, tensor<13x8xbf16>) -> tensor<2x3x8xbf16>
  %rows = graph.reshape %x : tensor<2x3x8xbf16> to tensor<6x8xbf16>
  %dw = graph.matmul %low, %rows {transpose_a} : (tensor<6x13xbf16>, tensor<6x8xbf16>) -> tensor<13x8xbf16>
  return %loss, %dx, %dw, %sum : tensor<f32>, tensor<2x3x8xbf16>, tensor<13x8xbf16>, tensor<6xf32>
}

// Weights of [k, n], and their gradient as a product with the cotangent on the right. What becomes infinite behind the columns reaches no product.
// CHECK-LABEL: @columns
// CHECK-DAG: %[[W:.*]] = graph.pad %arg1 {high = array<i64: 0, 3>, {{.*}} -> tensor<8x16xf16>
// CHECK: graph.matmul %arg0, %[[W]] : {{.*}} -> tensor<6x16xf16>
// CHECK: graph.log
// CHECK: %[[D:.*]] = graph.select
// CHECK: graph.matmul %[[D]], %[[W]] {transpose_b} : {{.*}} -> tensor<6x8xf16>
// CHECK: graph.matmul %arg0, %[[D]] {transpose_a} : {{.*}} -> tensor<8x16xf16>
// CHECK: graph.slice {{.*}} -> tensor<8x13xf16>
func.func @columns(%x: tensor<6x8xf16>, %w: tensor<8x13xf16>) -> (tensor<6x8xf16>, tensor<8x13xf16>) {
  %y = graph.matmul %x, %w : (tensor<6x8xf16>, tensor<8x13xf16>) -> tensor<6x13xf16>
  %d = graph.log %y : tensor<6x13xf16>
  %dx = graph.matmul %d, %w {transpose_b} : (tensor<6x13xf16>, tensor<8x13xf16>) -> tensor<6x8xf16>
  %dw = graph.matmul %x, %d {transpose_a} : (tensor<6x8xf16>, tensor<6x13xf16>) -> tensor<8x13xf16>
  return %dx, %dw : tensor<6x8xf16>, tensor<8x13xf16>
}

// A product whose result no other product reads keeps its columns, and so do products in fp32, with few columns, and with a multiple of sixteen.
// CHECK-LABEL: @others
// CHECK-NOT: graph.pad
func.func @others(%x: tensor<6x8xf16>, %w: tensor<8x13xf16>, %x32: tensor<6x8xf32>, %w32: tensor<8x13xf32>, %w5: tensor<8x5xf16>, %w16: tensor<8x16xf16>) -> (tensor<6x13xf16>, tensor<6x8xf32>, tensor<6x8xf16>, tensor<6x8xf16>) {
  %y = graph.matmul %x, %w : (tensor<6x8xf16>, tensor<8x13xf16>) -> tensor<6x13xf16>
  %y32 = graph.matmul %x32, %w32 : (tensor<6x8xf32>, tensor<8x13xf32>) -> tensor<6x13xf32>
  %d32 = graph.matmul %y32, %w32 {transpose_b} : (tensor<6x13xf32>, tensor<8x13xf32>) -> tensor<6x8xf32>
  %y5 = graph.matmul %x, %w5 : (tensor<6x8xf16>, tensor<8x5xf16>) -> tensor<6x5xf16>
  %d5 = graph.matmul %y5, %w5 {transpose_b} : (tensor<6x5xf16>, tensor<8x5xf16>) -> tensor<6x8xf16>
  %y16 = graph.matmul %x, %w16 : (tensor<6x8xf16>, tensor<8x16xf16>) -> tensor<6x16xf16>
  %d16 = graph.matmul %y16, %w16 {transpose_b} : (tensor<6x16xf16>, tensor<8x16xf16>) -> tensor<6x8xf16>
  return %y, %d32, %d5, %d16 : tensor<6x13xf16>, tensor<6x8xf32>, tensor<6x8xf16>, tensor<6x8xf16>
}
