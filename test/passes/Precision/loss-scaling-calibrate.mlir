// RUN: mpc-opt %s --mpc-loss-scaling | FileCheck %s
// RUN: mpc-opt %s --mpc-loss-scaling | mpc-opt --mpc-loss-scaling | FileCheck %s

// The largest magnitude of all 16-bit cotangents and of the gradients is watched. Ops that only move elements are not watched again.
train.variable @w parameter : tensor<4x3xf32> = #train.fill<1.0>
// CHECK: train.variable @"main/scale" scaler : tensor<f32> = #train.fill<1.024000e+03 : f64> {step = @main}
// CHECK: train.variable @"main/skipped" scaler : tensor<i64>
// CHECK: train.variable @"main/calibrated" scaler : tensor<i32>
// CHECK: train.variable @"main/gradient_max" scaler : tensor<f64>
// CHECK-NOT: growth_tracker
// CHECK-LABEL: train.step @main
train.step @main(%x: tensor<2x4xf16>) -> tensor<f32>
    attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<calibrate, steps = 7, headroom = 2.0>} {
  %l = graph.constant dense<0.0> : tensor<f32>
  // CHECK: %[[S:.*]] = train.read @"main/scale"
  // CHECK: %[[DY:.*]] = graph.cast %[[S]] : tensor<f32> to tensor<f16>
  %seed = train.seed : tensor<f32>
  %dy = graph.cast %seed : tensor<f32> to tensor<f16>
  %spread = graph.broadcast %dy : tensor<f16> to tensor<2x3xf16>
  // CHECK: %[[DW:.*]] = graph.matmul
  %dw = graph.matmul %x, %spread {transpose_a} : (tensor<2x4xf16>, tensor<2x3xf16>) -> tensor<4x3xf16>
  // CHECK: %[[G:.*]] = graph.cast %[[DW]] : tensor<4x3xf16> to tensor<4x3xf32>
  %g = graph.cast %dw : tensor<4x3xf16> to tensor<4x3xf32>
  // There are three magnitudes, those of dy, of dw and of the gradient.
  // CHECK-NEXT: %[[A:.*]] = graph.abs %[[DY]] : tensor<f16>
  // CHECK-NEXT: %[[A32:.*]] = graph.cast %[[A]]
  // CHECK-NEXT: %[[B:.*]] = graph.abs %[[DW]] : tensor<4x3xf16>
  // CHECK-NEXT: %[[BM:.*]] = graph.reduce_max %[[B]]
  // CHECK-NEXT: %[[B32:.*]] = graph.cast %[[BM]]
  // CHECK-NEXT: %[[C:.*]] = graph.abs %[[G]] : tensor<4x3xf32>
  // CHECK-NEXT: %[[CM:.*]] = graph.reduce_max %[[C]]
  // CHECK-NEXT: %[[AB:.*]] = graph.max %[[A32]], %[[B32]]
  // CHECK-NEXT: %[[M:.*]] = graph.max %[[AB]], %[[CM]]
  // CHECK: graph.is_nonfinite %[[G]]
  // CHECK: train.update @w
  // CHECK: graph.is_nonfinite %[[M]]
  // CHECK: train.assign @"main/gradient_max"
  // CHECK: train.assign @"main/calibrated"
  // The exponent of the scale is found in seven binary digits.
  // CHECK-COUNT-7: graph.constant dense<6.550400e+04> : tensor<f64>
  // CHECK: train.assign @"main/scale"
  train.update @w, %g : tensor<4x3xf32>
  train.yield %l : tensor<f32>
}
