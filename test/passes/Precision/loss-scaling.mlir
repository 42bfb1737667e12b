// RUN: mpc-opt %s --split-input-file --mpc-loss-scaling | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-loss-scaling | mpc-opt --split-input-file --mpc-loss-scaling | FileCheck %s

// The dynamic scale adds a seed, a check of the scaled gradient, an unscale, a guarded buffer and state.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @stat buffer : tensor<4xf32> = #train.fill<0.0>
// CHECK: train.variable @"main/scale" scaler : tensor<f32> = #train.fill<6.553600e+04 : f64> {step = @main}
// CHECK: train.variable @"main/skipped" scaler : tensor<i64>
// CHECK: train.variable @"main/growth_tracker" scaler : tensor<i32>
// CHECK-LABEL: train.step @main
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<dynamic>} {
  // CHECK: %[[W:.*]] = train.read @w
  %w = train.read @w : tensor<4xf32>
  %l = graph.reduce_sum %w {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  train.assign @stat, %w : tensor<4xf32>
  // CHECK: %[[S:.*]] = train.read @"main/scale"
  // CHECK-NOT: train.assign @stat
  // CHECK: %[[G:.*]] = graph.broadcast %[[S]]
  %seed = train.seed : tensor<f32>
  %g = graph.broadcast %seed : tensor<f32> to tensor<4xf32>
  // CHECK: %[[F:.*]] = graph.is_nonfinite %[[G]]
  // CHECK: %[[BAD:.*]] = graph.reduce_any %[[F]]
  // CHECK: %[[WIDE:.*]] = graph.cast %[[S]] : tensor<f32> to tensor<f64>
  // CHECK: %[[INV:.*]] = graph.div %{{.*}}, %[[WIDE]] : (tensor<f64>, tensor<f64>) -> tensor<f64>
  // CHECK: %[[INV32:.*]] = graph.cast %[[INV]]
  // CHECK: %[[U:.*]] = graph.mul %[[G]], %[[INV32]]
  // CHECK: train.update @w, %[[U]] unless %[[BAD]]
  // CHECK: %[[OLD:.*]] = train.read @stat
  // CHECK: %[[KEEP:.*]] = graph.select %[[BAD]], %[[OLD]], %[[W]]
  // CHECK: train.assign @stat, %[[KEEP]]
  // CHECK: train.assign @"main/skipped"
  // CHECK: graph.compare ge
  // CHECK: train.assign @"main/growth_tracker"
  // CHECK: train.assign @"main/scale"
  train.update @w, %g : tensor<4xf32>
  train.yield %l : tensor<f32>
}

// -----

// Without a scale nothing is checked. Gradients are clipped by value.
train.variable @w parameter : tensor<4xf16> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>, clip_value = 0.5 : f64} {
  // CHECK-NEXT: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
  // CHECK-NEXT: %[[H:.*]] = graph.cast %[[ONE]]
  // CHECK-NEXT: %[[G:.*]] = graph.broadcast %[[H]]
  // CHECK-NEXT: %[[G32:.*]] = graph.cast %[[G]] : tensor<4xf16> to tensor<4xf32>
  // CHECK-NEXT: %[[C:.*]] = graph.clip %[[G32]] {max = 5.000000e-01 : f64, min = -5.000000e-01 : f64}
  // CHECK-NEXT: train.update @w, %[[C]] : tensor<4xf32>
  // CHECK-NEXT: train.yield
  %seed = train.seed : tensor<f32>
  %h = graph.cast %seed : tensor<f32> to tensor<f16>
  %g = graph.broadcast %h : tensor<f16> to tensor<4xf16>
  train.update @w, %g : tensor<4xf16>
  train.yield %seed : tensor<f32>
}

// -----

// A static scale is a constant, and so is its inverse.
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<static, init_scale = 1024.0>} {
  // CHECK-NEXT: %[[W:.*]] = train.read @w
  // CHECK-NEXT: %[[S:.*]] = graph.constant dense<1.024000e+03>
  // CHECK-NEXT: %[[BAD:.*]] = graph.is_nonfinite %[[S]]
  // CHECK-NEXT: %[[INV:.*]] = graph.constant dense<9.765625E-4>
  // CHECK-NEXT: %[[U:.*]] = graph.mul %[[S]], %[[INV]]
  // CHECK-NEXT: train.update @w, %[[U]] unless %[[BAD]]
  %w = train.read @w : tensor<f32>
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %w : tensor<f32>
}
