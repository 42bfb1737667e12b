// RUN: mpc-opt %s | mpc-opt | FileCheck %s

// Every op and attribute of the dialect prints as it parses.
// CHECK: train.variable @w parameter : tensor<2x3xf32> = #train.normal<0.000000e+00 : f64, 1.000000e-01 : f64>
train.variable @w parameter : tensor<2x3xf32> = #train.normal<0.0 : f64, 0.1 : f64>
// CHECK: train.variable @b parameter : tensor<3xf32> = #train.uniform<-1.000000e+00 : f64, 1.000000e+00 : f64>
train.variable @b parameter : tensor<3xf32> = #train.uniform<-1.0 : f64, 1.0 : f64>
// CHECK: train.variable @"w/momentum" slot : tensor<2x3xf32> = #train.fill<0.000000e+00 : f64> {of = @w, step = @main}
train.variable @"w/momentum" slot : tensor<2x3xf32> = #train.fill<0.0 : f64> {of = @w, step = @main}
// CHECK: train.variable @half copy : tensor<2x3xf16> = #train.copy_of<@w>
train.variable @half copy : tensor<2x3xf16> = #train.copy_of<@w>
// CHECK: train.variable @table buffer : tensor<2xi64> = dense<[1, 2]> : tensor<2xi64>
train.variable @table buffer : tensor<2xi64> = dense<[1, 2]> : tensor<2xi64>

// CHECK: train.step @main(%arg0: tensor<4x2xf32> {train.name = "x"}) -> (tensor<f32> {train.role = "loss"}) attributes {
// CHECK-SAME: accumulate = 2 : i64, clip_norm = 1.000000e+00 : f64
// CHECK-SAME: optimizer = #train.optimizer<sgd>, parameters = [@w, @b], scaler = #train.scaler<none>
train.step @main(%x: tensor<4x2xf32> {train.name = "x"}) -> (tensor<f32> {train.role = "loss"}) attributes {accumulate = 2 : i64, clip_norm = 1.0 : f64, optimizer = #train.optimizer<sgd>, parameters = [@w, @b], scaler = #train.scaler<none>} {
  // CHECK: %[[W:.*]] = train.read @w : tensor<2x3xf32>
  %w = train.read @w : tensor<2x3xf32>
  // CHECK: train.seed : tensor<f32>
  %s = train.seed : tensor<f32>
  %skip = graph.is_nonfinite %s : (tensor<f32>) -> tensor<i1>
  // CHECK: %[[G:.*]] = train.all_reduce %[[W]] : tensor<2x3xf32>
  %g = train.all_reduce %w : tensor<2x3xf32>
  // CHECK: train.update @w, %[[G]] : tensor<2x3xf32>
  train.update @w, %g : tensor<2x3xf32>
  // CHECK: train.update @w, %[[G]] unless %{{.*}} : tensor<2x3xf32>, tensor<i1>
  train.update @w, %g unless %skip : tensor<2x3xf32>, tensor<i1>
  // CHECK: train.assign @"w/momentum", %[[G]] : tensor<2x3xf32>
  train.assign @"w/momentum", %g : tensor<2x3xf32>
  // CHECK: train.yield %{{.*}} : tensor<f32>
  train.yield %s : tensor<f32>
}
