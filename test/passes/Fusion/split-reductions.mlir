// RUN: mpc-opt %s --mpc-form-dispatches --mpc-split-reductions | FileCheck %s
// RUN: mpc-opt %s --mpc-form-dispatches --mpc-split-reductions --mpc-split-reductions | FileCheck %s

// What is read is reshaped, and the arithmetic in front of the reduction is computed in the new shape.
// CHECK-LABEL: func.func @overflow
// CHECK-NEXT: %[[R:.*]] = graph.reshape %arg0 : tensor<1048576xf16> to tensor<64x16384xf16>
// CHECK-NEXT: %[[P:.*]] = kernel.dispatch reduction {{.*}}(%[[R]]) : (tensor<64x16384xf16>) -> tensor<64xi1>
// CHECK: graph.is_nonfinite {{.*}} : (tensor<64x16384xf16>)
// CHECK-NEXT: graph.reduce_any {{.*}} {axes = array<i64: 1>, keepdims = false} {{.*}} -> tensor<64xi1>
// CHECK: kernel.dispatch reduction {{.*}}(%[[P]]) : (tensor<64xi1>) -> tensor<i1>
// CHECK: graph.reduce_any {{.*}} {axes = array<i64: 0>, keepdims = false} {{.*}} -> tensor<i1>
// CHECK-NOT: kernel.dispatch
func.func @overflow(%x: tensor<1048576xf16>) -> tensor<i1> {
  %0 = graph.is_nonfinite %x : (tensor<1048576xf16>) -> tensor<1048576xi1>
  %1 = graph.reduce_any %0 {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xi1>) -> tensor<i1>
  return %1 : tensor<i1>
}

// This sum is per channel, with a broadcast operand; partial sums of f16 are f32. The images are kept at first, without a
// reshape. Arithmetic on the sums goes with the second dispatch.
// CHECK-LABEL: func.func @channels
// CHECK-NOT: graph.reshape
// CHECK: kernel.dispatch reduction {{.*}}(%arg0, %arg1) : (tensor<32x16x16x64xf16>, tensor<1x1x64xf16>) -> tensor<32x64xf32>
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 1, 2>, keepdims = false} : (tensor<32x16x16x64xf32>) -> tensor<32x64xf32>
// CHECK: kernel.dispatch reduction {{.*}} : (tensor<32x64xf32>) -> tensor<64xf16>
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 0>, keepdims = false} : (tensor<32x64xf32>) -> tensor<64xf32>
// CHECK: graph.cast {{.*}} : tensor<64xf32> to tensor<64xf16>
// CHECK: graph.abs {{.*}} : tensor<64xf16>
func.func @channels(%x: tensor<32x16x16x64xf16>, %m: tensor<1x1x64xf16>) -> tensor<64xf16> {
  %0 = graph.sub %x, %m : (tensor<32x16x16x64xf16>, tensor<1x1x64xf16>) -> tensor<32x16x16x64xf16>
  %1 = graph.reduce_sum %0 {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<32x16x16x64xf16>) -> tensor<64xf16>
  %2 = graph.abs %1 : tensor<64xf16>
  return %2 : tensor<64xf16>
}

// There are few images, so images and rows are kept at first, and both are reduced in the end.
// CHECK-LABEL: func.func @images_and_rows
// CHECK-NOT: graph.reshape
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 2>, keepdims = false} : (tensor<2x64x64x16xf32>) -> tensor<2x64x16xf32>
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x64x16xf32>) -> tensor<16xf32>
func.func @images_and_rows(%x: tensor<2x64x64x16xf32>) -> tensor<16xf32> {
  %0 = graph.reduce_sum %x {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<2x64x64x16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// A mean is divided in the end. Where the dimensions stay, the pieces stand where they began.
// CHECK-LABEL: func.func @mean
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 1>, keepdims = true} : (tensor<64x3125xf32>) -> tensor<64x1xf32>
// CHECK: %[[V:.*]] = graph.reshape {{.*}} : tensor<64x1xf32> to tensor<64xf32>
// CHECK: kernel.dispatch reduction {{.*}}(%[[V]]) : (tensor<64xf32>) -> tensor<1xf32>
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 0>, keepdims = true} : (tensor<64xf32>) -> tensor<1xf32>
// CHECK: graph.constant dense<2.000000e+05>
// CHECK: graph.div
func.func @mean(%x: tensor<200000xf32>) -> tensor<1xf32> {
  %0 = graph.reduce_mean %x {axes = array<i64: 0>, keepdims = true} : (tensor<200000xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// Several reductions of one dispatch are split together.
// CHECK-LABEL: func.func @together
// CHECK: %[[P:.*]]:2 = kernel.dispatch reduction {{.*}} -> (tensor<64xf32>, tensor<64xf32>)
// CHECK: kernel.dispatch reduction {{.*}}(%[[P]]#0, %[[P]]#1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<f32>
// CHECK-NOT: kernel.dispatch
func.func @together(%x: tensor<1048576xf32>) -> tensor<f32> {
  %0 = graph.reduce_sum %x {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xf32>) -> tensor<f32>
  %1 = graph.reduce_max %x {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xf32>) -> tensor<f32>
  %2 = graph.div %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// What moves elements keeps its shape, so it is stored first, in its own type.
// CHECK-LABEL: func.func @moved
// CHECK: %[[S:.*]] = kernel.dispatch pointwise {{.*}}(%arg0) : (tensor<1048575xf16>) -> tensor<1048576xf16>
// CHECK: graph.pad
// CHECK: %[[R:.*]] = graph.reshape %[[S]] : tensor<1048576xf16> to tensor<64x16384xf16>
// CHECK: kernel.dispatch reduction {{.*}}(%[[R]]) : (tensor<64x16384xf16>) -> tensor<64xf32>
// CHECK: graph.cast
// CHECK: graph.reduce_sum
// CHECK: kernel.dispatch reduction {{.*}} : (tensor<64xf32>) -> tensor<f32>
func.func @moved(%x: tensor<1048575xf16>) -> tensor<f32> {
  %0 = graph.pad %x {value = 1.0, low = array<i64: 1>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<1048575xf16>) -> tensor<1048576xf16>
  %1 = graph.cast %0 : tensor<1048576xf16> to tensor<1048576xf32>
  %2 = graph.reduce_sum %1 {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// With enough rows, or little to do, nothing changes.
// CHECK-LABEL: func.func @untouched
// CHECK-NOT: graph.reshape
// CHECK-COUNT-2: kernel.dispatch
// CHECK-NOT: kernel.dispatch
func.func @untouched(%x: tensor<128x1000xf32>, %y: tensor<5000xf32>) -> (tensor<128xf32>, tensor<f32>) {
  %0 = graph.reduce_sum %x {axes = array<i64: 1>, keepdims = false} : (tensor<128x1000xf32>) -> tensor<128xf32>
  %1 = graph.reduce_max %y {axes = array<i64: 0>, keepdims = false} : (tensor<5000xf32>) -> tensor<f32>
  return %0, %1 : tensor<128xf32>, tensor<f32>
}

// Few and long rows are divided, so what comes behind the maximum waits for all of them.
// CHECK-LABEL: func.func @long_rows
// CHECK: kernel.dispatch reduction {{.*}} -> tensor<8x{{.*}}xf32>
// CHECK: kernel.dispatch reduction {{.*}} -> tensor<8x1xf32>
// CHECK: kernel.dispatch pointwise {{.*}} -> tensor<8x1048576xf32>
func.func @long_rows(%x: tensor<8x1048576xf32>) -> tensor<8x1048576xf32> {
  %0 = graph.reduce_max %x {axes = array<i64: 1>, keepdims = true} : (tensor<8x1048576xf32>) -> tensor<8x1xf32>
  %1 = graph.sub %x, %0 : (tensor<8x1048576xf32>, tensor<8x1xf32>) -> tensor<8x1048576xf32>
  return %1 : tensor<8x1048576xf32>
}
