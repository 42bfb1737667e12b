// RUN: mpc-opt %s --mpc-decompose --canonicalize | FileCheck %s

// A sum of nothing is 0, a product 1, a mean NaN, and a maximum the least number; a contraction without terms is 0.
// CHECK-LABEL: @reductions
// CHECK-NOT: graph.reduce
// CHECK-DAG: dense<0.000000e+00> : tensor<3xf32>
// CHECK-DAG: dense<1.000000e+00> : tensor<3xf32>
// CHECK-DAG: dense<0x7FC00000> : tensor<3xf32>
// CHECK-DAG: dense<0xFF800000> : tensor<3xf32>
func.func @reductions(%x: tensor<3x0xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = graph.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<3x0xf32>) -> tensor<3xf32>
  %1 = graph.reduce_prod %x {axes = array<i64: 1>, keepdims = false} : (tensor<3x0xf32>) -> tensor<3xf32>
  %2 = graph.reduce_mean %x {axes = array<i64: 1>, keepdims = false} : (tensor<3x0xf32>) -> tensor<3xf32>
  %3 = graph.reduce_max %x {axes = array<i64: 1>, keepdims = false} : (tensor<3x0xf32>) -> tensor<3xf32>
  return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Maxima and minima of no integers are the bounds of their type, and no truth value is true.
// CHECK-LABEL: @integers
// CHECK-NOT: graph.reduce
// CHECK-DAG: dense<0> : tensor<3xui8>
// CHECK-DAG: dense<127> : tensor<3xi8>
// CHECK-DAG: dense<0> : tensor<3xi16>
// CHECK-DAG: dense<false> : tensor<3xi1>
func.func @integers(%u: tensor<3x0xui8>, %i: tensor<3x0xi8>, %j: tensor<3x0xi16>, %b: tensor<3x0xi1>) -> (tensor<3xui8>, tensor<3xi8>, tensor<3xi16>, tensor<3xi1>) {
  %0 = graph.reduce_max %u {axes = array<i64: 1>, keepdims = false} : (tensor<3x0xui8>) -> tensor<3xui8>
  %1 = graph.reduce_min %i {axes = array<i64: 1>, keepdims = false} : (tensor<3x0xi8>) -> tensor<3xi8>
  %2 = graph.reduce_mean %j {axes = array<i64: 1>, keepdims = false} : (tensor<3x0xi16>) -> tensor<3xi16>
  %3 = graph.reduce_any %b {axes = array<i64: 1>, keepdims = false} : (tensor<3x0xi1>) -> tensor<3xi1>
  return %0, %1, %2, %3 : tensor<3xui8>, tensor<3xi8>, tensor<3xi16>, tensor<3xi1>
}

// A gradient that sums no elements is 0.
// CHECK-LABEL: @gradients
// CHECK-NOT: graph.scatter
// CHECK-NOT: graph.conv_weight_grad
// CHECK: return
func.func @gradients(%dy: tensor<0x3xf32>, %i: tensor<0xi64>, %x: tensor<0x2x4x4xf32>, %dz: tensor<0x5x4x4xf32>) -> (tensor<4x3xf32>, tensor<5x2x1x1xf32>) {
  %0 = graph.scatter %dy, %i {axis = 0 : i64} : (tensor<0x3xf32>, tensor<0xi64>) -> tensor<4x3xf32>
  %1 = graph.conv_weight_grad %x, %dz {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<0x2x4x4xf32>, tensor<0x5x4x4xf32>) -> tensor<5x2x1x1xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<5x2x1x1xf32>
}

// CHECK-LABEL: @contractions
// CHECK-NOT: graph.matmul
// CHECK-NOT: graph.conv
// CHECK: return
func.func @contractions(%a: tensor<2x0xf32>, %b: tensor<0x3xf32>, %x: tensor<1x2x0x3xf32>, %w: tensor<4x2x2x1xf32>) -> (tensor<2x3xf32>, tensor<1x4x1x3xf32>) {
  %0 = graph.matmul %a, %b : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  %1 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 0>, pad_high = array<i64: 1, 0>, groups = 1 : i64} : (tensor<1x2x0x3xf32>, tensor<4x2x2x1xf32>) -> tensor<1x4x1x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<1x4x1x3xf32>
}

// A value without elements is a constant. Padding it leaves the padding, and joining it with others leaves the others.
// CHECK-LABEL: @movement
// CHECK-NOT: graph.exp
// CHECK-NOT: graph.concat
// CHECK: %[[P:.*]] = graph.constant dense<5.000000e-01> : tensor<2xf32>
// CHECK: return %[[P]], %arg1
func.func @movement(%x: tensor<0xf32>, %y: tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  %0 = graph.exp %x : tensor<0xf32>
  %1 = graph.pad %0 {value = 0.5 : f64, low = array<i64: 1>, high = array<i64: 1>, interior = array<i64: 0>} : (tensor<0xf32>) -> tensor<2xf32>
  %2 = graph.concat %0, %y, %x {axis = 0 : i64} : (tensor<0xf32>, tensor<3xf32>, tensor<0xf32>) -> tensor<3xf32>
  return %1, %2 : tensor<2xf32>, tensor<3xf32>
}
