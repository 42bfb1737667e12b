// RUN: mpc-opt %s --mpc-decompose --split-input-file | FileCheck %s

// The gradient of a split, a sum of pads in any order, is a concatenation.
// CHECK-LABEL: @split
// CHECK-SAME: (%[[A:.*]]: tensor<2x1xf32>, %[[B:.*]]: tensor<2x2xf32>, %[[C:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: %[[Y:.*]] = graph.concat %[[A]], %[[B]], %[[C]] {axis = 1 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @split(%a: tensor<2x1xf32>, %b: tensor<2x2xf32>, %c: tensor<2x3xf32>) -> tensor<2x6xf32> {
  %0 = graph.pad %b {low = array<i64: 0, 1>, high = array<i64: 0, 3>, interior = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<2x2xf32>) -> tensor<2x6xf32>
  %1 = graph.pad %a {low = array<i64: 0, 0>, high = array<i64: 0, 5>, interior = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<2x1xf32>) -> tensor<2x6xf32>
  %2 = graph.pad %c {low = array<i64: 0, 3>, high = array<i64: 0, 0>, interior = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %3 = graph.add %0, %1 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  %4 = graph.add %2, %3 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  return %4 : tensor<2x6xf32>
}

// -----
// Where parts are missing, those that abut are joined; another term of the sum is added as before.
// CHECK-LABEL: @gap
// CHECK-SAME: (%[[A:.*]]: tensor<1xf32>, %[[B:.*]]: tensor<1xf32>, %[[C:.*]]: tensor<1xf32>, %[[X:.*]]: tensor<6xf32>)
// CHECK-DAG: %[[AB:.*]] = graph.concat %[[A]], %[[B]] {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
// CHECK-DAG: %[[P:.*]] = graph.pad %[[AB]] {high = array<i64: 3>, {{.*}}low = array<i64: 1>
// CHECK-DAG: %[[Q:.*]] = graph.pad %[[C]]
// CHECK: %[[S:.*]] = graph.add %[[X]], %[[P]]
// CHECK-NEXT: %[[T:.*]] = graph.add %[[S]], %[[Q]]
// CHECK-NEXT: return %[[T]]
func.func @gap(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>, %x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = graph.pad %a {low = array<i64: 1>, high = array<i64: 4>, interior = array<i64: 0>, value = 0.0 : f64} : (tensor<1xf32>) -> tensor<6xf32>
  %1 = graph.pad %b {low = array<i64: 2>, high = array<i64: 3>, interior = array<i64: 0>, value = 0.0 : f64} : (tensor<1xf32>) -> tensor<6xf32>
  %2 = graph.pad %c {low = array<i64: 5>, high = array<i64: 0>, interior = array<i64: 0>, value = 0.0 : f64} : (tensor<1xf32>) -> tensor<6xf32>
  %3 = graph.add %0, %x : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %4 = graph.add %3, %1 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %5 = graph.add %4, %2 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %5 : tensor<6xf32>
}

// -----
// Pads that overlap, that fill with another number, or that put zeros between elements stay a sum.
// CHECK-LABEL: @untouched
// CHECK-NOT: graph.concat
// CHECK: return
func.func @untouched(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %0 = graph.pad %a {low = array<i64: 0>, high = array<i64: 2>, interior = array<i64: 0>, value = 0.0 : f64} : (tensor<4xf32>) -> tensor<6xf32>
  %1 = graph.pad %c {low = array<i64: 3>, high = array<i64: 0>, interior = array<i64: 0>, value = 0.0 : f64} : (tensor<3xf32>) -> tensor<6xf32>
  %2 = graph.add %0, %1 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %3 = graph.pad %b {low = array<i64: 4>, high = array<i64: 0>, interior = array<i64: 0>, value = 1.0 : f64} : (tensor<2xf32>) -> tensor<6xf32>
  %4 = graph.add %0, %3 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %5 = graph.pad %c {low = array<i64: 0>, high = array<i64: 1>, interior = array<i64: 1>, value = 0.0 : f64} : (tensor<3xf32>) -> tensor<6xf32>
  %6 = graph.pad %c {low = array<i64: 1>, high = array<i64: 0>, interior = array<i64: 1>, value = 0.0 : f64} : (tensor<3xf32>) -> tensor<6xf32>
  %7 = graph.add %5, %6 : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return %2, %4, %7 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----
// A concatenation of 66 tensors is one of two, of 33 each.
// CHECK-LABEL: @wide
// CHECK: %[[A:.*]] = graph.concat {{.*}} -> tensor<66xf32>
// CHECK-NEXT: %[[B:.*]] = graph.concat {{.*}} -> tensor<66xf32>
// CHECK-NEXT: graph.concat %[[A]], %[[B]] {axis = 0 : i64} : (tensor<66xf32>, tensor<66xf32>) -> tensor<132xf32>
func.func @wide(%x: tensor<2xf32>) -> tensor<132xf32> {
  %0 = graph.concat %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x {axis = 0 : i64} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<132xf32>
  return %0 : tensor<132xf32>
}

// -----
// Each concatenation of a dense block continues the one before.
// CHECK-LABEL: @dense
// CHECK-SAME: (%[[A:.*]]: tensor<1xf32>, %[[B:.*]]: tensor<1xf32>, %[[C:.*]]: tensor<1xf32>, %[[D:.*]]: tensor<1xf32>)
// CHECK-NEXT: %[[AB:.*]] = graph.concat %[[A]], %[[B]]
// CHECK-NEXT: %[[ABC:.*]] = graph.concat %[[AB]], %[[C]]
// CHECK-NEXT: %[[ABCD:.*]] = graph.concat %[[ABC]], %[[D]]
// CHECK-NEXT: %[[OTHER:.*]] = graph.concat %[[A]], %[[C]], %[[B]]
// CHECK-NEXT: return %[[AB]], %[[ABC]], %[[ABCD]], %[[OTHER]]
func.func @dense(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>, %d: tensor<1xf32>) -> (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) {
  %0 = graph.concat %a, %b {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %1 = graph.concat %a, %b, %c {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
  %2 = graph.concat %a, %b, %c, %d {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
  %3 = graph.concat %a, %c, %b {axis = 0 : i64} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>
}
