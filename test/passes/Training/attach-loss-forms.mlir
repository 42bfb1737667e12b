// RUN: mpc-opt %s --mpc-attach-loss=loss=mse:y:t | FileCheck %s --check-prefixes=CHECK,MSE
// RUN: mpc-opt %s --mpc-attach-loss=loss=l1:y:t | FileCheck %s --check-prefixes=CHECK,L1
// RUN: mpc-opt %s --mpc-attach-loss=loss=smooth_l1:y:t | FileCheck %s --check-prefixes=CHECK,SMOOTH
// RUN: mpc-opt %s --mpc-attach-loss=loss=bce_with_logits:y:t | FileCheck %s --check-prefixes=CHECK,BCE
// RUN: mpc-opt %s --mpc-attach-loss="loss=mse:y:x outputs=z metric=accuracy:y:i" | FileCheck %s --check-prefix=EXISTING
// RUN: mpc-opt %s --mpc-attach-loss="step={G:loss=output:total:params=w:optimizer=adam,betas=0.5/0.9},{D:loss=mse:y:t:params=v:every=3} param-group={{.*:lr=2,weight_decay=0}} clip-norm=1 accumulate=2" | FileCheck %s --check-prefix=STEPS

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
train.variable @v parameter : tensor<3xf32> = #train.fill<1.0>

// CHECK-LABEL: train.step @main
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x3xf32> {train.batched, train.name = "x"}
// CHECK-SAME: %[[T:[^:]*]]: tensor<4x3xf32> {train.batched, train.name = "t"}
// MSE: %[[D:.*]] = graph.sub %[[Y:.*]], %[[T]]
// MSE: %[[Q:.*]] = graph.mul %[[D]], %[[D]]
// MSE: graph.reduce_mean %[[Q]] {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<f32>
// L1: graph.sub
// L1: graph.abs
// L1: graph.reduce_mean
// SMOOTH: %[[A:.*]] = graph.abs
// SMOOTH: graph.clip %[[A]] {max = 1.000000e+00 : f64, min = 0.000000e+00 : f64}
// BCE: graph.softplus

// Each sample has three elements, so its loss is their sum and its weight 3.
// CHECK-LABEL: func.func @eval
// CHECK: %[[SUM:.*]] = graph.reduce_sum %{{.*}} {axes = array<i64: 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<4xf32>
// CHECK: %[[THREE:.*]] = graph.constant dense<3.000000e+00> : tensor<4xf32>
// CHECK: return %[[SUM]], %[[THREE]] : tensor<4xf32>, tensor<4xf32>

// CHECK-LABEL: func.func @predict
// CHECK-SAME: -> (tensor<4x3xf32> {train.batched, train.name = "y", train.role = "output"}, tensor<4x3xf32> {train.batched, train.name = "z", train.role = "output"}) {

// An autoencoder's target is its input. The metric keeps an input that only it needs.
// EXISTING-LABEL: train.step @main
// EXISTING-SAME: (%{{[^,]*}}: tensor<4x3xf32> {train.batched, train.name = "x"}) -> (tensor<f32>
// EXISTING-LABEL: func.func @eval
// EXISTING-SAME: tensor<4xi64> {train.batched, train.name = "i"}
// EXISTING-SAME: train.name = "y", train.role = "output"
// EXISTING-LABEL: func.func @predict
// EXISTING-SAME: -> (tensor<4x3xf32> {train.batched, train.name = "z", train.role = "output"})

// STEPS-LABEL: train.step @G
// STEPS-SAME: accumulate = 2 : i64, clip_norm = 1.000000e+00 : f64, groups = [#train.group<".*", lr = 2, weight_decay = 0>]
// STEPS-SAME: optimizer = #train.optimizer<adam, beta1 = 0.5, beta2 = 0.9>, parameters = [@w]
// STEPS-LABEL: train.step @D
// STEPS-SAME: optimizer = #train.optimizer<sgd>, parameters = [@v]
// STEPS-SAME: train.every = 3 : i64
// The total is a sum of losses, so it does not split by samples.
// STEPS-LABEL: func.func @eval
// STEPS-SAME: -> (tensor<f32> {train.name = "loss", train.role = "loss"})
// STEPS-LABEL: func.func @predict
// STEPS-SAME: train.name = "y"
// STEPS-SAME: train.name = "z"
// STEPS-NOT: train.name = "total"
// STEPS: return
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}, %i: tensor<4xi64> {train.name = "i", train.batched})
    -> (tensor<4x3xf32> {train.name = "y"}, tensor<4x3xf32> {train.name = "z"}, tensor<f32> {train.name = "total"}) {
  %w = train.read @w : tensor<3xf32>
  %v = train.read @v : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %z = graph.mul %y, %v : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %a = graph.reduce_mean %z {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<f32>
  %b = graph.reduce_mean %y {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<f32>
  %t = graph.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %y, %z, %t : tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>
}
