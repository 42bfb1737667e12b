// RUN: mpc-opt %s --split-input-file --mpc-autodiff | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-autodiff | mpc-opt --split-input-file --mpc-autodiff | FileCheck %s

// Casts are inserted before gradients, so the gradient of the low-precision product reaches the fp32 parameter through a cast. Nothing is
// built for %x and for the frozen @f.
train.variable @w parameter : tensor<4x3xf32> = #train.fill<1.0>
train.variable @f parameter : tensor<3xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x4xf16>
train.step @main(%x: tensor<2x4xf16>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %w = train.read @w : tensor<4x3xf32>
  %f = train.read @f : tensor<3xf32>
  %w16 = graph.cast %w : tensor<4x3xf32> to tensor<4x3xf16>
  %y = graph.matmul %x, %w16 : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
  %y32 = graph.cast %y : tensor<2x3xf16> to tensor<2x3xf32>
  %z = graph.add %y32, %f : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: %[[L:.*]] = graph.reduce_sum
  %l = graph.reduce_sum %z {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  // CHECK-NEXT: %[[SEED:.*]] = train.seed : tensor<f32>
  // CHECK-NOT: graph.reduce_sum
  // CHECK: %[[DY:.*]] = graph.cast %{{.*}} : tensor<2x3xf32> to tensor<2x3xf16>
  // CHECK-NEXT: %[[DW16:.*]] = graph.matmul %[[X]], %[[DY]] {transpose_a}
  // CHECK-NEXT: %[[DW:.*]] = graph.cast %[[DW16]] : tensor<4x3xf16> to tensor<4x3xf32>
  // CHECK-NEXT: train.update @w, %[[DW]] : tensor<4x3xf32>
  // CHECK-NEXT: train.yield %[[L]]
  train.yield %l : tensor<f32>
}

// -----

// Contributions are added: those of two uses of one read, and those of two reads of one parameter.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
train.step @main(%x: tensor<3xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %a = train.read @w : tensor<3xf32>
  %b = train.read @w : tensor<3xf32>
  %e = graph.exp %a : tensor<3xf32>
  %p = graph.mul %e, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %q = graph.mul %p, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %l = graph.reduce_sum %q {axes = array<i64: 0>, keepdims = false} : (tensor<3xf32>) -> tensor<f32>
  // CHECK: train.seed
  // CHECK-COUNT-2: graph.add
  // CHECK-NOT: graph.add
  // CHECK: train.update @w
  // CHECK-NOT: train.update
  train.yield %l : tensor<f32>
}

// -----

// A derivative of zero ends its path without an error: the comparison gets no gradient, and the selected operand does.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
train.step @main(%x: tensor<3xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %w = train.read @w : tensor<3xf32>
  %c = graph.compare gt %w, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %s = graph.select %c, %w, %x : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %l = graph.reduce_sum %s {axes = array<i64: 0>, keepdims = false} : (tensor<3xf32>) -> tensor<f32>
  // CHECK: train.update @w
  train.yield %l : tensor<f32>
}

// -----

// A slice of one element takes no step: its gradient pads around that element, whatever the stride is.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %w = train.read @w : tensor<3xf32>
  %s = graph.slice %w {starts = array<i64: 1>, sizes = array<i64: 1>, strides = array<i64: -9223372036854775808>} : (tensor<3xf32>) -> tensor<1xf32>
  %l = graph.reduce_sum %s {axes = array<i64: 0>, keepdims = false} : (tensor<1xf32>) -> tensor<f32>
  // CHECK: train.seed
  // CHECK-NOT: graph.slice
  // CHECK: graph.pad %{{.*}} {high = array<i64: 1>, interior = array<i64: 0>, low = array<i64: 1>, value = 0.000000e+00 : f64}
  // CHECK-NEXT: train.update @w
  train.yield %l : tensor<f32>
}

// -----

// A function that is no step is left alone.
// CHECK-LABEL: func.func @eval
// CHECK-NEXT: return
func.func @eval(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
