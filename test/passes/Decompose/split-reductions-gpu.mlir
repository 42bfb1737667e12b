// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-decompose --canonicalize --cse | FileCheck %s

// A block for each image is enough, so nothing is reshaped.
// CHECK-LABEL: func.func @channels
// CHECK-NOT: graph.reshape
// CHECK: graph.reduce_sum %arg0 {axes = array<i64: 1, 2>, keepdims = false} : (tensor<128x32x32x64xf32>) -> tensor<128x64xf32>
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 0>, keepdims = false} : (tensor<128x64xf32>) -> tensor<64xf32>
func.func @channels(%x: tensor<128x32x32x64xf32>) -> tensor<64xf32> {
  %y = graph.reduce_sum %x {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<128x32x32x64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// There are few images, so each of their rows gets a block.
// CHECK-LABEL: func.func @rows
// CHECK: graph.reduce_sum %arg0 {axes = array<i64: 2>, keepdims = false} : (tensor<8x56x56x64xf32>) -> tensor<8x56x64xf32>
func.func @rows(%x: tensor<8x56x56x64xf32>) -> tensor<64xf32> {
  %y = graph.reduce_sum %x {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<8x56x56x64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// This is one long vector: short chains of elementwise ops are computed in the new shape.
// CHECK-LABEL: func.func @norm
// CHECK: %[[R:.*]] = graph.reshape %arg0 : tensor<1048576xf32> to tensor<256x4096xf32>
// CHECK: graph.mul %[[R]], %[[R]]
func.func @norm(%x: tensor<1048576xf32>) -> tensor<f32> {
  %q = graph.mul %x, %x : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  %y = graph.reduce_sum %q {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Of a long chain only the end is reshaped, so that the values inside stay out of memory. The end is stored in 16 bits.
// CHECK-LABEL: func.func @long_chain
// CHECK-COUNT-9: graph.exp {{.*}} : tensor<1048576xf16>
// CHECK-NEXT: %[[R:.*]] = graph.reshape {{.*}} : tensor<1048576xf16> to tensor<256x4096xf16>
// CHECK-NEXT: %[[W:.*]] = graph.cast %[[R]] : tensor<256x4096xf16> to tensor<256x4096xf32>
// CHECK-NEXT: graph.reduce_sum %[[W]]
func.func @long_chain(%x: tensor<1048576xf16>) -> tensor<f32> {
  %1 = graph.exp %x : tensor<1048576xf16>
  %2 = graph.exp %1 : tensor<1048576xf16>
  %3 = graph.exp %2 : tensor<1048576xf16>
  %4 = graph.exp %3 : tensor<1048576xf16>
  %5 = graph.exp %4 : tensor<1048576xf16>
  %6 = graph.exp %5 : tensor<1048576xf16>
  %7 = graph.exp %6 : tensor<1048576xf16>
  %8 = graph.exp %7 : tensor<1048576xf16>
  %9 = graph.exp %8 : tensor<1048576xf16>
  %w = graph.cast %9 : tensor<1048576xf16> to tensor<1048576xf32>
  %y = graph.reduce_sum %w {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Both sums and the product read %v, which is stored for them; computing it for each would read four tensors each time. So the sums read it in the split shape, a view.
// CHECK-LABEL: func.func @stored
// CHECK: %[[V:.*]] = graph.select
// CHECK: %[[R:.*]] = graph.reshape %[[V]] : tensor<131072x64xf32> to tensor<{{[0-9]+x[0-9]+}}x64xf32>
// CHECK-NOT: graph.select
// CHECK: graph.reduce_sum %[[R]]
func.func @stored(%a: tensor<131072x64xf32>, %b: tensor<131072x64xf32>, %c: tensor<131072x64xf32>, %d: tensor<131072x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<131072x64xf32>) {
  %p = graph.compare gt %a, %b : (tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xi1>
  %v = graph.select %p, %c, %d : (tensor<131072x64xi1>, tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xf32>
  %s = graph.reduce_sum %v {axes = array<i64: 0>, keepdims = false} : (tensor<131072x64xf32>) -> tensor<64xf32>
  %w = graph.mul %v, %a : (tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xf32>
  %t = graph.reduce_sum %w {axes = array<i64: 0>, keepdims = false} : (tensor<131072x64xf32>) -> tensor<64xf32>
  return %s, %t, %w : tensor<64xf32>, tensor<64xf32>, tensor<131072x64xf32>
}

// Only the square reads %v, so %v is computed in the loops of the sum.
// CHECK-LABEL: func.func @square
// CHECK: graph.reshape %arg0
// CHECK: graph.add
// CHECK: graph.add
// CHECK: graph.mul
// CHECK: graph.reduce_sum
func.func @square(%a: tensor<131072x64xf32>, %b: tensor<131072x64xf32>, %c: tensor<131072x64xf32>) -> tensor<64xf32> {
  %u = graph.add %a, %b : (tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xf32>
  %v = graph.add %u, %c : (tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xf32>
  %w = graph.mul %v, %v : (tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xf32>
  %s = graph.reduce_sum %w {axes = array<i64: 0>, keepdims = false} : (tensor<131072x64xf32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// Here the dimensions that are kept stay, and each row of an image would be too small a piece. What is subtracted is a
// sample, which is read in the split shape.
// CHECK-LABEL: func.func @samples
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : tensor<64x32x32x16xf32> to tensor<256x256x16xf32>
// CHECK-NEXT: %[[S:.*]] = graph.slice %[[R]] {sizes = array<i64: 1, 1, 16>, starts = array<i64: 130, 16, 0>, strides = array<i64: 1, 1, 1>}
// CHECK-NEXT: %[[A:.*]] = graph.abs %[[S]]
// CHECK-NEXT: %[[D:.*]] = graph.sub %[[R]], %[[A]] : (tensor<256x256x16xf32>, tensor<1x1x16xf32>)
// CHECK-NEXT: %[[P:.*]] = graph.reduce_sum %[[D]] {axes = array<i64: 1>, keepdims = true} : (tensor<256x256x16xf32>) -> tensor<256x1x16xf32>
// CHECK-NEXT: %[[V:.*]] = graph.reshape %[[P]] : tensor<256x1x16xf32> to tensor<256x1x1x16xf32>
// CHECK-NEXT: graph.reduce_sum %[[V]] {axes = array<i64: 0>, keepdims = true} : (tensor<256x1x1x16xf32>) -> tensor<1x1x1x16xf32>
func.func @samples(%x: tensor<64x32x32x16xf32>) -> tensor<1x1x1x16xf32> {
  %s = graph.slice %x {sizes = array<i64: 1, 1, 1, 16>, starts = array<i64: 32, 16, 16, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<64x32x32x16xf32>) -> tensor<1x1x1x16xf32>
  %a = graph.abs %s : tensor<1x1x1x16xf32>
  %d = graph.sub %x, %a : (tensor<64x32x32x16xf32>, tensor<1x1x1x16xf32>) -> tensor<64x32x32x16xf32>
  %y = graph.reduce_sum %d {axes = array<i64: 0, 1, 2>, keepdims = true} : (tensor<64x32x32x16xf32>) -> tensor<1x1x1x16xf32>
  return %y : tensor<1x1x1x16xf32>
}
