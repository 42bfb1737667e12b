// RUN: mpc-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @arithmetic
// CHECK-SAME: (%[[X:.*]]: tensor<2xf32>, %[[I:.*]]: tensor<2xi64>)
func.func @arithmetic(%x: tensor<2xf32>, %i: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<2xf32>
  %izero = graph.constant dense<0> : tensor<i64>
  %0 = graph.mul %x, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = graph.div %0, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = graph.sub %1, %zero : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = graph.neg %2 : tensor<2xf32>
  %4 = graph.neg %3 : tensor<2xf32>
  %5 = graph.add %i, %izero : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  // -0 + 0 is 0: adding zero to floats is not the identity.
  // CHECK: %[[ADD:.*]] = graph.add %[[X]],
  %6 = graph.add %x, %zero : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: %[[RELU:.*]] = graph.relu %[[X]]
  %7 = graph.relu %x : tensor<2xf32>
  %8 = graph.relu %7 : tensor<2xf32>
  %9 = graph.abs %8 : tensor<2xf32>
  // CHECK: return %[[X]], %[[I]], %[[ADD]], %[[RELU]]
  return %4, %5, %6, %9 : tensor<2xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xf32>
}

// A factor of one that broadcasts x to a larger shape stays.
// CHECK-LABEL: func.func @broadcasting_identity
func.func @broadcasting_identity(%x: tensor<2xf32>) -> tensor<3x2xf32> {
  %one = graph.constant dense<1.0> : tensor<3x1xf32>
  // CHECK: graph.mul
  %0 = graph.mul %x, %one : (tensor<2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @selects
// CHECK-SAME: (%[[C:.*]]: tensor<2xi1>, %[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>)
func.func @selects(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %true = graph.constant dense<true> : tensor<i1>
  %false = graph.constant dense<false> : tensor<2xi1>
  %0 = graph.select %true, %x, %y : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.select %false, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = graph.select %c, %x, %x : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: return %[[X]], %[[Y]], %[[X]]
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[H:.*]]: tensor<2xf16>, %[[X:.*]]: tensor<2xf32>)
func.func @casts(%h: tensor<2xf16>, %x: tensor<2xf32>) -> (tensor<2xf16>, tensor<2xf32>, tensor<2xbf16>, tensor<3xf16>) {
  // Constants round to nearest even, and overflow to infinity.
  // CHECK: graph.constant dense<[9.997550e-02, 6.550400e+04, 0x7C00]> : tensor<3xf16>
  // Widening and narrowing again gives the same value.
  %0 = graph.cast %h : tensor<2xf16> to tensor<2xf32>
  %1 = graph.cast %0 : tensor<2xf32> to tensor<2xf16>
  // Narrowing and widening rounds, so both casts stay.
  // CHECK: %[[N:.*]] = graph.cast %[[X]] : tensor<2xf32> to tensor<2xf16>
  // CHECK: %[[W:.*]] = graph.cast %[[N]] : tensor<2xf16> to tensor<2xf32>
  %2 = graph.cast %x : tensor<2xf32> to tensor<2xf16>
  %3 = graph.cast %2 : tensor<2xf16> to tensor<2xf32>
  // A cast from f16 to bf16 through f32 is not the identity.
  // CHECK: %[[B:.*]] = graph.cast %{{.*}} : tensor<2xf32> to tensor<2xbf16>
  %4 = graph.cast %0 : tensor<2xf32> to tensor<2xbf16>
  %5 = graph.constant dense<[0.1, 65519.0, 65520.0]> : tensor<3xf32>
  %6 = graph.cast %5 : tensor<3xf32> to tensor<3xf16>
  // CHECK: return %[[H]], %[[W]], %[[B]]
  return %1, %3, %4, %6 : tensor<2xf16>, tensor<2xf32>, tensor<2xbf16>, tensor<3xf16>
}

// CHECK-LABEL: func.func @casts_to_8_bits
// CHECK-SAME: (%[[A:.*]]: tensor<2xf8E4M3FN>, %[[B:.*]]: tensor<2xf8E5M2>)
func.func @casts_to_8_bits(%a: tensor<2xf8E4M3FN>, %b: tensor<2xf8E5M2>) -> (tensor<2xf8E4M3FN>, tensor<2xf8E5M2>, tensor<6xf8E4M3FN>, tensor<4xf8E5M2>) {
  // Constants round to nearest even and saturate: 17 becomes 16, 19 becomes 20, and 448 and larger numbers become 448.
  // CHECK-DAG: graph.constant dense<[1.600000e+01, 2.000000e+01, 4.480000e+02, 4.480000e+02, -4.480000e+02, 0.000000e+00]> : tensor<6xf8E4M3FN>
  // CHECK-DAG: graph.constant dense<[5.734400e+04, 5.734400e+04, -5.734400e+04, {{.*}}]> : tensor<4xf8E5M2>
  // A cast there and back cancels, except for f8E5M2, whose infinities would saturate.
  %0 = graph.cast %a : tensor<2xf8E4M3FN> to tensor<2xf16>
  %1 = graph.cast %0 : tensor<2xf16> to tensor<2xf8E4M3FN>
  // CHECK: %[[W:.*]] = graph.cast %[[B]] : tensor<2xf8E5M2> to tensor<2xf32>
  // CHECK: %[[N:.*]] = graph.cast %[[W]] : tensor<2xf32> to tensor<2xf8E5M2>
  %2 = graph.cast %b : tensor<2xf8E5M2> to tensor<2xf32>
  %3 = graph.cast %2 : tensor<2xf32> to tensor<2xf8E5M2>
  %4 = graph.constant dense<[17.0, 19.0, 463.0, 1.0e9, -1.0e9, 0.0009]> : tensor<6xf32>
  %5 = graph.cast %4 : tensor<6xf32> to tensor<6xf8E4M3FN>
  %6 = graph.constant dense<[61000.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %7 = graph.cast %6 : tensor<4xf32> to tensor<4xf8E5M2>
  // CHECK: return %[[A]], %[[N]],
  return %1, %3, %5, %7 : tensor<2xf8E4M3FN>, tensor<2xf8E5M2>, tensor<6xf8E4M3FN>, tensor<4xf8E5M2>
}

// CHECK-LABEL: func.func @movement
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
func.func @movement(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = graph.reshape %x : tensor<2x3xf32> to tensor<6xf32>
  %1 = graph.reshape %0 : tensor<6xf32> to tensor<2x3xf32>
  %2 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %4 = graph.broadcast %x : tensor<2x3xf32> to tensor<2x3xf32>
  %5 = graph.concat %x {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = graph.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 2, 3>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %7 = graph.reduce_sum %x {axes = array<i64>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
  return %1, %3, %4, %5, %6, %7 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @merged
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[Y:.*]]: tensor<2x1x3xf32>)
func.func @merged(%x: tensor<2x3x4xf32>, %y: tensor<2x1x3xf32>) -> (tensor<4x2x3xf32>, tensor<6x4xf32>, tensor<1x2x3xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: %[[T:.*]] = graph.transpose %[[X]] {permutation = array<i64: 2, 0, 1>}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 2, 1, 0>} : (tensor<3x2x4xf32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %[[X]] : tensor<2x3x4xf32> to tensor<6x4xf32>
  %2 = graph.reshape %x : tensor<2x3x4xf32> to tensor<24xf32>
  %3 = graph.reshape %2 : tensor<24xf32> to tensor<6x4xf32>
  // A transpose that moves a dimension of one is a reshape.
  // CHECK-NEXT: %[[M:.*]] = graph.reshape %[[Y]] : tensor<2x1x3xf32> to tensor<1x2x3xf32>
  %4 = graph.transpose %y {permutation = array<i64: 1, 0, 2>} : (tensor<2x1x3xf32>) -> tensor<1x2x3xf32>
  // CHECK-NEXT: %[[P:.*]] = graph.slice %[[X]] {{.*}}strides = array<i64: 1, -1, 1>
  %5 = graph.slice %x {starts = array<i64: 0, 2, 0>, sizes = array<i64: 2, 3, 1>, strides = array<i64: 1, -1, 1>} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  // CHECK-NEXT: %[[Q:.*]] = graph.reshape %[[P]]
  %6 = graph.reshape %5 : tensor<2x3x1xf32> to tensor<2x3xf32>
  // CHECK-NEXT: return %[[T]], %[[R]], %[[M]], %[[Q]]
  return %1, %3, %4, %6 : tensor<4x2x3xf32>, tensor<6x4xf32>, tensor<1x2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<3x2xi64>, tensor<4x2xf32>, tensor<2x4xf32>, tensor<2xf32>) {
  // CHECK-DAG: %[[A:.*]] = graph.constant dense<{{\[\[}}1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  // CHECK-DAG: %[[B:.*]] = graph.constant dense<2.000000e+00> : tensor<4x2xf32>
  // CHECK-DAG: %[[C:.*]] = graph.constant dense<2.000000e+00> : tensor<2x4xf32>
  // CHECK-DAG: %[[D:.*]] = graph.constant dense<2.000000e+00> : tensor<2xf32>
  %0 = graph.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi64>
  %1 = graph.reshape %0 : tensor<6xi64> to tensor<3x2xi64>
  %2 = graph.constant dense<2.0> : tensor<f32>
  %3 = graph.broadcast %2 : tensor<f32> to tensor<4x2xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<4x2xf32>) -> tensor<2x4xf32>
  %5 = graph.slice %4 {starts = array<i64: 1, 0>, sizes = array<i64: 1, 2>, strides = array<i64: 1, 2>} : (tensor<2x4xf32>) -> tensor<1x2xf32>
  %6 = graph.reshape %5 : tensor<1x2xf32> to tensor<2xf32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
  return %1, %3, %4, %6 : tensor<3x2xi64>, tensor<4x2xf32>, tensor<2x4xf32>, tensor<2xf32>
}

// An integer is rounded once to the float type: 2^24 + 1 is a tie in f32, 2049 one in f16, and 255 is no -1. Tables of integers stay.
// CHECK-LABEL: func.func @casts_of_integers
func.func @casts_of_integers() -> (tensor<2xf32>, tensor<1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<2xf32>) {
  // CHECK-DAG: graph.constant dense<0x4B800000> : tensor<2xf32>
  // CHECK-DAG: graph.constant dense<2.048000e+03> : tensor<1xf16>
  // CHECK-DAG: graph.constant dense<2.550000e+02> : tensor<1xf32>
  // CHECK-DAG: graph.constant dense<1.000000e+00> : tensor<1xf32>
  // CHECK-COUNT-1: graph.cast
  // CHECK-NOT: graph.cast
  %0 = graph.constant dense<16777217> : tensor<2xi64>
  %1 = graph.cast %0 : tensor<2xi64> to tensor<2xf32>
  %2 = graph.constant dense<2049> : tensor<1xi32>
  %3 = graph.cast %2 : tensor<1xi32> to tensor<1xf16>
  %4 = graph.constant dense<255> : tensor<1xui8>
  %5 = graph.cast %4 : tensor<1xui8> to tensor<1xf32>
  %6 = graph.constant dense<true> : tensor<1xi1>
  %7 = graph.cast %6 : tensor<1xi1> to tensor<1xf32>
  %8 = graph.constant dense<[1, 2]> : tensor<2xi64>
  %9 = graph.cast %8 : tensor<2xi64> to tensor<2xf32>
  return %1, %3, %5, %7, %9 : tensor<2xf32>, tensor<1xf16>, tensor<1xf32>, tensor<1xf32>, tensor<2xf32>
}
