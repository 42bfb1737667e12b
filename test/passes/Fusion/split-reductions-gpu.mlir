// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-form-dispatches --mpc-split-reductions | FileCheck %s

// A block for each image is enough, so nothing is reshaped.
// CHECK-LABEL: func.func @channels
// CHECK-NOT: graph.reshape
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 1, 2>, keepdims = false} : (tensor<128x32x32x64xf32>) -> tensor<128x64xf32>
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 0>, keepdims = false} : (tensor<128x64xf32>) -> tensor<64xf32>
func.func @channels(%x: tensor<128x32x32x64xf32>) -> tensor<64xf32> {
  %y = graph.reduce_sum %x {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<128x32x32x64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// There are few images, so each of their rows gets a block.
// CHECK-LABEL: func.func @rows
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 2>, keepdims = false} : (tensor<8x56x56x64xf32>) -> tensor<8x56x64xf32>
func.func @rows(%x: tensor<8x56x56x64xf32>) -> tensor<64xf32> {
  %y = graph.reduce_sum %x {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<8x56x56x64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// This is one long vector, in a new shape.
// CHECK-LABEL: func.func @norm
// CHECK: %[[R:.*]] = graph.reshape %arg0 : tensor<1048576xf32> to tensor<256x4096xf32>
// CHECK: kernel.dispatch reduction {{.*}}(%[[R]])
func.func @norm(%x: tensor<1048576xf32>) -> tensor<f32> {
  %q = graph.mul %x, %x : (tensor<1048576xf32>, tensor<1048576xf32>) -> tensor<1048576xf32>
  %y = graph.reduce_sum %q {axes = array<i64: 0>, keepdims = false} : (tensor<1048576xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Both sums and the product read %v, which is stored for them; computing it for each would read four tensors each time.
// CHECK-LABEL: func.func @stored
// CHECK: %[[V:.*]]:2 = kernel.dispatch pointwise
// CHECK: graph.select
// CHECK: graph.reshape %[[V]]#0 : tensor<131072x64xf32> to tensor<512x256x64xf32>
// CHECK-NOT: graph.select
// CHECK: kernel.dispatch reduction {{.*}} -> tensor<512x64xf32>
// CHECK: graph.reshape %[[V]]#1 : tensor<131072x64xf32> to tensor<512x256x64xf32>
// CHECK: kernel.dispatch reduction {{.*}} -> tensor<512x64xf32>
func.func @stored(%a: tensor<131072x64xf32>, %b: tensor<131072x64xf32>, %c: tensor<131072x64xf32>, %d: tensor<131072x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<131072x64xf32>) {
  %p = graph.compare gt %a, %b : (tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xi1>
  %v = graph.select %p, %c, %d : (tensor<131072x64xi1>, tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xf32>
  %s = graph.reduce_sum %v {axes = array<i64: 0>, keepdims = false} : (tensor<131072x64xf32>) -> tensor<64xf32>
  %w = graph.mul %v, %a : (tensor<131072x64xf32>, tensor<131072x64xf32>) -> tensor<131072x64xf32>
  %t = graph.reduce_sum %w {axes = array<i64: 0>, keepdims = false} : (tensor<131072x64xf32>) -> tensor<64xf32>
  return %s, %t, %w : tensor<64xf32>, tensor<64xf32>, tensor<131072x64xf32>
}

// Here the dimensions that are kept stay, and each row of an image would be too small a piece. What is subtracted is a
// sample, which is read in the split shape.
// CHECK-LABEL: func.func @samples
// CHECK: %[[R:.*]] = graph.reshape %arg0 : tensor<64x32x32x16xf32> to tensor<256x256x16xf32>
// CHECK: %[[P:.*]] = kernel.dispatch reduction {{.*}}(%[[R]]) : (tensor<256x256x16xf32>) -> tensor<256x1x16xf32>
// CHECK: graph.slice {{.*}} {sizes = array<i64: 1, 1, 16>, starts = array<i64: 130, 16, 0>, strides = array<i64: 1, 1, 1>}
// CHECK: graph.abs {{.*}} : tensor<1x1x16xf32>
// CHECK: graph.sub {{.*}} : (tensor<256x256x16xf32>, tensor<1x1x16xf32>)
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 1>, keepdims = true} : (tensor<256x256x16xf32>) -> tensor<256x1x16xf32>
// CHECK: %[[V:.*]] = graph.reshape %[[P]] : tensor<256x1x16xf32> to tensor<256x1x1x16xf32>
// CHECK: kernel.dispatch reduction {{.*}}(%[[V]])
// CHECK: graph.reduce_sum {{.*}} {axes = array<i64: 0>, keepdims = true} : (tensor<256x1x1x16xf32>) -> tensor<1x1x1x16xf32>
func.func @samples(%x: tensor<64x32x32x16xf32>) -> tensor<1x1x1x16xf32> {
  %s = graph.slice %x {sizes = array<i64: 1, 1, 1, 16>, starts = array<i64: 32, 16, 16, 0>, strides = array<i64: 1, 1, 1, 1>} : (tensor<64x32x32x16xf32>) -> tensor<1x1x1x16xf32>
  %a = graph.abs %s : tensor<1x1x1x16xf32>
  %d = graph.sub %x, %a : (tensor<64x32x32x16xf32>, tensor<1x1x1x16xf32>) -> tensor<64x32x32x16xf32>
  %y = graph.reduce_sum %d {axes = array<i64: 0, 1, 2>, keepdims = true} : (tensor<64x32x32x16xf32>) -> tensor<1x1x1x16xf32>
  return %y : tensor<1x1x1x16xf32>
}
