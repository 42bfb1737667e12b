// RUN: mpc-opt %s --mpc-decompose --canonicalize --cse | FileCheck %s
// RUN: mpc-opt %s --mpc-decompose=split=false --canonicalize --cse | FileCheck %s --check-prefix=WHOLE
// RUN: mpc-opt %s --mpc-decompose --mpc-decompose --canonicalize --cse | FileCheck %s

// The reshape moves up to the operand, and the elementwise ops in between are rebuilt in the new shape.
// CHECK-LABEL: func.func @overflow
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : tensor<1048576xf16> to tensor<64x16384xf16>
// CHECK-NEXT: %[[N:.*]] = graph.is_nonfinite %[[R]]
// CHECK-NEXT: %[[P:.*]] = graph.reduce_any %[[N]] {axes = array<i64: 1>, keepdims = false} {{.*}} -> tensor<64xi1>
// CHECK-NEXT: %[[Y:.*]] = graph.reduce_any %[[P]] {axes = array<i64: 0>, keepdims = false} {{.*}} -> tensor<i1>
// WHOLE-LABEL: func.func @overflow
// WHOLE-NOT: graph.reshape
func.func @overflow(%x: tensor<1048576xf16>) -> tensor<i1> {
  %0 = graph.is_nonfinite %x : (tensor<1048576xf16>) -> tensor<1048576xi1>
  %1 = graph.reduce_any %0 {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xi1>) -> tensor<i1>
  return %1 : tensor<i1>
}

// This sum is per channel, with a broadcast operand; partial sums of f16 are f32. The images are kept at first, without a
// reshape, so that other readers can share what is summed.
// CHECK-LABEL: func.func @channels
// CHECK-NOT: graph.reshape %arg0
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 1, 2>, keepdims = false} : (tensor<32x16x16x64xf32>) -> tensor<32x64xf32>
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 0>, keepdims = false} : (tensor<32x64xf32>) -> tensor<64xf32>
// CHECK: graph.cast {{.*}} : tensor<64xf32> to tensor<64xf16>
func.func @channels(%x: tensor<32x16x16x64xf16>, %m: tensor<1x1x64xf16>) -> tensor<64xf16> {
  %0 = graph.sub %x, %m : (tensor<32x16x16x64xf16>, tensor<1x1x64xf16>) -> tensor<32x16x16x64xf16>
  %1 = graph.reduce_sum %0 {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<32x16x16x64xf16>) -> tensor<64xf16>
  return %1 : tensor<64xf16>
}

// There are few images, so images and rows are kept at first, and both are reduced in the end.
// CHECK-LABEL: func.func @images_and_rows
// CHECK-NOT: graph.reshape
// CHECK: graph.reduce_sum %arg0 {axes = array<i64: 2>, keepdims = false} : (tensor<2x64x64x16xf32>) -> tensor<2x64x16xf32>
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x64x16xf32>) -> tensor<16xf32>
func.func @images_and_rows(%x: tensor<2x64x64x16xf32>) -> tensor<16xf32> {
  %0 = graph.reduce_sum %x {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<2x64x64x16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// With enough rows, or little to do, nothing changes.
// CHECK-LABEL: func.func @untouched
// CHECK-NOT: graph.reshape
func.func @untouched(%x: tensor<128x1000xf32>, %y: tensor<5000xf32>) -> (tensor<128xf32>, tensor<f32>) {
  %0 = graph.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<128x1000xf32>) -> tensor<128xf32>
  %1 = graph.reduce_max %y {axes = array<i64: 0>, keepdims = false} : (tensor<5000xf32>) -> tensor<f32>
  return %0, %1 : tensor<128xf32>, tensor<f32>
}
