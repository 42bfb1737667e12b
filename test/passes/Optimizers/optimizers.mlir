// RUN: mpc-opt %s --split-input-file --mpc-optimizers | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-optimizers | mpc-opt --split-input-file --mpc-optimizers | FileCheck %s

// This is SGD with momentum and a flag that skips the update. Locations have the parameter's name.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK: train.variable @"main/lr" hyper : tensor<f32> = #train.fill<1.000000e-01 : f64> {step = @main}
// CHECK: train.variable @"main/step" counter : tensor<i64> = #train.fill<0.000000e+00 : f64> {step = @main}
// CHECK: train.variable @"w/momentum" slot : tensor<4xf32> = #train.fill<0.000000e+00 : f64> {of = @w, step = @main}
// CHECK-LABEL: train.step @main
// CHECK-SAME: %[[G:[^:]*]]: tensor<4xf32>, %[[SKIP:[^:]*]]: tensor<i1>
train.step @main(%g: tensor<4xf32>, %skip: tensor<i1>, %l: tensor<f32>) -> tensor<f32>
    attributes {parameters = [@w], optimizer = #train.optimizer<sgd, lr = 0.1, momentum = 0.5>, scaler = #train.scaler<none>} {
  // CHECK: %[[LR:.*]] = train.read @"main/lr"
  // CHECK: %[[T:.*]] = train.read @"main/step"
  // CHECK: %[[T1:.*]] = graph.add %[[T]],
  // CHECK: %[[TS:.*]] = graph.select %[[SKIP]], %[[T]], %[[T1]]
  // CHECK: train.assign @"main/step", %[[TS]]
  // CHECK: %[[W0:.*]] = train.read @w
  // CHECK: %[[M0:.*]] = train.read @"w/momentum"
  // CHECK: %[[HALF:.*]] = graph.constant dense<5.000000e-01>
  // CHECK: %[[MM:.*]] = graph.mul %[[M0]], %[[HALF]]
  // CHECK: %[[M1:.*]] = graph.add %[[MM]], %[[G]]
  // CHECK: %[[D:.*]] = graph.mul %[[M1]], %[[LR]]
  // CHECK: %[[W1:.*]] = graph.sub %[[W0]], %[[D]]
  // CHECK: %[[MS:.*]] = graph.select %[[SKIP]], %[[M0]], %[[M1]]
  // CHECK: train.assign @"w/momentum", %[[MS]]
  // CHECK: %[[WS:.*]] = graph.select %[[SKIP]], %[[W0]], %[[W1]]
  // CHECK: train.assign @w, %[[WS]]
  // CHECK-NOT: train.update
  train.update @w, %g unless %skip : tensor<4xf32>, tensor<i1>
  train.yield %l : tensor<f32>
}

// -----

// A parameter stored in f16 is widened, updated and rounded once. Of the groups, the first that matches counts.
train.variable @w.bias parameter : tensor<4xf16> = #train.fill<1.0>
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
train.step @main(%g: tensor<4xf32>, %l: tensor<f32>) -> tensor<f32>
    attributes {parameters = [@w.bias, @w], optimizer = #train.optimizer<sgd, weight_decay = 0.25>, scaler = #train.scaler<none>,
                groups = [#train.group<".*bias", lr = 2, weight_decay = 0>, #train.group<".*", lr = 8>]} {
  // CHECK: %[[LR:.*]] = train.read @"main/lr"
  // CHECK-DAG: %[[TWO:.*]] = graph.constant dense<2.000000e+00>
  // CHECK-DAG: %[[LR2:.*]] = graph.mul %[[LR]], %[[TWO]]
  // CHECK-DAG: %[[B16:.*]] = train.read @w.bias : tensor<4xf16>
  // CHECK-DAG: %[[B32:.*]] = graph.cast %[[B16]]
  // CHECK: %[[D:.*]] = graph.mul %{{.*}}, %[[LR2]]
  // CHECK: %[[NEW:.*]] = graph.sub %[[B32]], %[[D]]
  // CHECK: %[[N16:.*]] = graph.cast %[[NEW]] : tensor<4xf32> to tensor<4xf16>
  // CHECK: train.assign @w.bias, %[[N16]] : tensor<4xf16>
  // CHECK: %[[W:.*]] = train.read @w : tensor<4xf32>
  // CHECK: %[[DECAY:.*]] = graph.constant dense<2.500000e-01>
  // CHECK: graph.mul %[[W]], %[[DECAY]]
  train.update @w.bias, %g : tensor<4xf32>
  train.update @w, %g : tensor<4xf32>
  train.yield %l : tensor<f32>
}

// -----

// Two steps that train one parameter keep separate state.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK-DAG: @"w/exp_avg" slot : tensor<4xf32> = #train.fill<0.000000e+00 : f64> {of = @w, step = @a}
// CHECK-DAG: @"w/b/exp_avg" slot : tensor<4xf32> = #train.fill<0.000000e+00 : f64> {of = @w, step = @b}
// CHECK-DAG: @"a/beta1_power" counter : tensor<f64> = #train.fill<1.000000e+00 : f64> {step = @a}
train.step @a(%g: tensor<4xf32>, %l: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<adam>, scaler = #train.scaler<none>} {
  train.update @w, %g : tensor<4xf32>
  train.yield %l : tensor<f32>
}
train.step @b(%g: tensor<4xf32>, %l: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<adamw, beta1 = 0.5, beta2 = 0.75>, scaler = #train.scaler<none>} {
  train.update @w, %g : tensor<4xf32>
  train.yield %l : tensor<f32>
}

// -----

// Second moments of rows and columns have the rank of their matrices, and a skipped update leaves them.
train.variable @w parameter : tensor<2x3x4xf32> = #train.fill<1.0>
train.variable @b parameter : tensor<4xf32> = #train.fill<1.0>
// CHECK: train.variable @"w/row_var" slot : tensor<2x3x1xf32> = #train.fill<0.000000e+00 : f64> {of = @w, step = @main}
// CHECK: train.variable @"w/col_var" slot : tensor<2x1x4xf32> = #train.fill<0.000000e+00 : f64> {of = @w, step = @main}
// CHECK: train.variable @"b/variance" slot : tensor<4xf32> = #train.fill<0.000000e+00 : f64> {of = @b, step = @main}
// CHECK-LABEL: train.step @main
// CHECK-SAME: %[[G:[^:]*]]: tensor<2x3x4xf32>, %[[H:[^:]*]]: tensor<4xf32>, %[[SKIP:[^:]*]]: tensor<i1>
train.step @main(%g: tensor<2x3x4xf32>, %h: tensor<4xf32>, %skip: tensor<i1>, %l: tensor<f32>) -> tensor<f32>
    attributes {parameters = [@w, @b], optimizer = #train.optimizer<adafactor>, scaler = #train.scaler<none>} {
  // CHECK: %[[R0:.*]] = train.read @"w/row_var"
  // CHECK: %[[C0:.*]] = train.read @"w/col_var"
  // CHECK: %[[SQUARE:.*]] = graph.mul %[[G]], %[[G]]
  // CHECK: graph.reduce_sum %[[SQUARE]] {axes = array<i64: 2>, keepdims = true}
  // CHECK: %[[R1:.*]] = graph.add %[[R0]],
  // CHECK: graph.reduce_sum %[[SQUARE]] {axes = array<i64: 1>, keepdims = true}
  // CHECK: %[[C1:.*]] = graph.add %[[C0]],
  // CHECK: graph.mul %[[R1]], %[[C1]] : (tensor<2x3x1xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %[[RS:.*]] = graph.select %[[SKIP]], %[[R0]], %[[R1]]
  // CHECK: train.assign @"w/row_var", %[[RS]]
  // CHECK: %[[CS:.*]] = graph.select %[[SKIP]], %[[C0]], %[[C1]]
  // CHECK: train.assign @"w/col_var", %[[CS]]
  train.update @w, %g unless %skip : tensor<2x3x4xf32>, tensor<i1>
  train.update @b, %h unless %skip : tensor<4xf32>, tensor<i1>
  train.yield %l : tensor<f32>
}

// -----

// A group without weight decay gets steps of the usual length: only the norms of @w are computed.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @b parameter : tensor<3xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @main
train.step @main(%g: tensor<4xf32>, %h: tensor<3xf32>, %l: tensor<f32>) -> tensor<f32>
    attributes {parameters = [@w, @b], optimizer = #train.optimizer<lars, weight_decay = 0.5>, scaler = #train.scaler<none>,
                groups = [#train.group<"b", weight_decay = 0>]} {
  // CHECK-COUNT-2: graph.reduce_sum {{.*}} : (tensor<4xf32>) -> tensor<f32>
  // CHECK-NOT: graph.reduce_sum
  train.update @w, %g : tensor<4xf32>
  train.update @b, %h : tensor<3xf32>
  train.yield %l : tensor<f32>
}
