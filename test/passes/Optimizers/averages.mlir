// RUN: mpc-opt %s --mpc-optimizers=ema=0.75 | FileCheck %s
// RUN: mpc-opt %s --mpc-optimizers=ema=0.75 | mpc-opt --mpc-optimizers=ema=0.75 | FileCheck %s

// Each trained parameter has an average in fp32, which a skipped update leaves alone. Evaluation reads it, and parameters that have none as they are.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @half parameter : tensor<4xf16> = #train.fill<1.0>
train.variable @fixed parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK: train.variable @"w/ema" slot : tensor<4xf32> = #train.copy_of<@w> {of = @w, step = @main, train.average = 7.500000e-01 : f64}
// CHECK: train.variable @"half/ema" slot : tensor<4xf32> = #train.copy_of<@half> {of = @half, step = @main, train.average = 7.500000e-01 : f64}
// CHECK-NOT: fixed/ema
// CHECK-LABEL: train.step @main
// CHECK-SAME: %[[SKIP:[^:]*]]: tensor<i1>
train.step @main(%g: tensor<4xf32>, %skip: tensor<i1>, %l: tensor<f32>) -> tensor<f32>
    attributes {parameters = [@w, @half], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // CHECK: %[[W1:.*]] = graph.sub
  // CHECK: %[[E0:.*]] = train.read @"w/ema"
  // CHECK: %[[D:.*]] = graph.sub %[[W1]], %[[E0]]
  // CHECK: %[[QUARTER:.*]] = graph.constant dense<2.500000e-01>
  // CHECK: %[[M:.*]] = graph.mul %[[D]], %[[QUARTER]]
  // CHECK: %[[E1:.*]] = graph.add %[[E0]], %[[M]]
  // CHECK: %[[ES:.*]] = graph.select %[[SKIP]], %[[E0]], %[[E1]]
  // CHECK: train.assign @"w/ema", %[[ES]]
  // CHECK: %[[N16:.*]] = graph.cast %{{.*}} : tensor<4xf32> to tensor<4xf16>
  // CHECK: %[[N32:.*]] = graph.cast %[[N16]] : tensor<4xf16> to tensor<4xf32>
  // CHECK: graph.sub %[[N32]]
  train.update @w, %g unless %skip : tensor<4xf32>, tensor<i1>
  train.update @half, %g unless %skip : tensor<4xf32>, tensor<i1>
  train.yield %l : tensor<f32>
}
// CHECK-LABEL: func.func @eval
func.func @eval() -> (tensor<4xf32>, tensor<4xf16>, tensor<4xf32>) {
  // CHECK: %[[W:.*]] = train.read @"w/ema" : tensor<4xf32>
  // CHECK: %[[H32:.*]] = train.read @"half/ema" : tensor<4xf32>
  // CHECK: %[[H:.*]] = graph.cast %[[H32]] : tensor<4xf32> to tensor<4xf16>
  // CHECK: %[[F:.*]] = train.read @fixed
  // CHECK: return %[[W]], %[[H]], %[[F]]
  %w = train.read @w : tensor<4xf32>
  %h = train.read @half : tensor<4xf16>
  %f = train.read @fixed : tensor<4xf32>
  return %w, %h, %f : tensor<4xf32>, tensor<4xf16>, tensor<4xf32>
}
