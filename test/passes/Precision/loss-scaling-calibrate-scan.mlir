// RUN: mpc-opt %s --mpc-loss-scaling --split-input-file | FileCheck %s

// The backward scan returns the largest magnitude of those 16-bit cotangents that only its body holds. What it stacks is watched outside, and what does not depend on the scale (%forward) is not watched.
train.variable @w parameter : tensor<3x3xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @carried
// CHECK: %[[S:.*]] = train.read @"carried/scale"
// CHECK: %[[FINALS:.*]]:2, %[[STACKS:.*]]:2 = graph.scan 5 reverse carry(
// CHECK-SAME: -> (tensor<2x3xf32>, tensor<3x3xf32>) stack(tensor<5x2x3xf16>, tensor<5xf32>)
// CHECK-NEXT: ^bb0(%[[DH:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK: graph.tanh
// CHECK: %[[LOW:.*]] = graph.cast %[[DH]] : tensor<2x3xf32> to tensor<2x3xf16>
// CHECK: %[[DX:.*]] = graph.mul %[[LOW]]
// CHECK: %[[DW:.*]] = graph.matmul %{{.*}}, %[[LOW]] {transpose_a}
// CHECK: %[[A:.*]] = graph.abs %[[LOW]]
// CHECK: %[[AM:.*]] = graph.reduce_max %[[A]]
// CHECK: %[[A32:.*]] = graph.cast %[[AM]] : tensor<f16> to tensor<f32>
// CHECK-NOT: graph.abs %[[DX]]
// CHECK: %[[B:.*]] = graph.abs %[[DW]]
// CHECK: %[[BM:.*]] = graph.reduce_max %[[B]]
// CHECK: %[[B32:.*]] = graph.cast %[[BM]] : tensor<f16> to tensor<f32>
// CHECK: %[[M:.*]] = graph.max %[[A32]], %[[B32]]
// CHECK: graph.scan_yield %{{.*}}, %{{.*}}, %[[DX]], %[[M]] :
// CHECK: graph.abs %[[STACKS]]#0 : tensor<5x2x3xf16>
// CHECK: %[[ALL:.*]] = graph.abs %[[STACKS]]#1 : tensor<5xf32>
// CHECK: graph.reduce_max %[[ALL]]
// CHECK: graph.abs %[[FINALS]]#1 : tensor<3x3xf32>
train.step @carried(%x: tensor<5x2x3xf16>) -> tensor<f32>
    attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<calibrate, steps = 7, headroom = 2.0>} {
  %l = graph.constant dense<0.0> : tensor<f32>
  %dw0 = graph.constant dense<0.0> : tensor<3x3xf32>
  %seed = train.seed : tensor<f32>
  %dy = graph.broadcast %seed : tensor<f32> to tensor<2x3xf32>
  %dh0, %dw, %dx = graph.scan 5 reverse carry(%dy, %dw0 : tensor<2x3xf32>, tensor<3x3xf32>) over(%x : tensor<5x2x3xf16>) -> (tensor<2x3xf32>, tensor<3x3xf32>) stack(tensor<5x2x3xf16>) {
  ^bb0(%dh: tensor<2x3xf32>, %sum: tensor<3x3xf32>, %xt: tensor<2x3xf16>):
    %forward = graph.tanh %xt : tensor<2x3xf16>
    %low = graph.cast %dh : tensor<2x3xf32> to tensor<2x3xf16>
    %d = graph.mul %low, %forward : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x3xf16>
    %g = graph.matmul %forward, %low {transpose_a} : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<3x3xf16>
    %wide = graph.cast %g : tensor<3x3xf16> to tensor<3x3xf32>
    %next = graph.add %sum, %wide : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    graph.scan_yield %dh, %next, %d : tensor<2x3xf32>, tensor<3x3xf32>, tensor<2x3xf16>
  }
  train.update @w, %dw : tensor<3x3xf32>
  train.yield %l : tensor<f32>
}

// -----
// An iteration's cotangents may depend on the scale only through what an earlier iteration carried on. A forward scan stays as it is.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// CHECK-LABEL: train.step @later
// CHECK: graph.scan 4 carry(%{{.*}} : tensor<3xf16>) -> (tensor<3xf16>) {
// CHECK: graph.scan 4 carry(%{{.*}}, %{{.*}} : tensor<3xf32>, tensor<3xf32>) with(
// CHECK-SAME: -> (tensor<3xf32>, tensor<3xf32>) stack(tensor<4xf32>)
train.step @later(%x: tensor<3xf16>) -> tensor<f32>
    attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<calibrate, steps = 7, headroom = 2.0>} {
  %l = graph.constant dense<0.0> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<3xf32>
  %h = graph.scan 4 carry(%x : tensor<3xf16>) -> (tensor<3xf16>) {
  ^bb0(%h0: tensor<3xf16>):
    %h1 = graph.tanh %h0 : tensor<3xf16>
    graph.scan_yield %h1 : tensor<3xf16>
  }
  %seed = train.seed : tensor<f32>
  %dy = graph.broadcast %seed : tensor<f32> to tensor<3xf32>
  %a, %b = graph.scan 4 carry(%zero, %zero : tensor<3xf32>, tensor<3xf32>) with(%dy, %h : tensor<3xf32>, tensor<3xf16>) -> (tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%first: tensor<3xf32>, %sum: tensor<3xf32>, %d: tensor<3xf32>, %ht: tensor<3xf16>):
    %low = graph.cast %first : tensor<3xf32> to tensor<3xf16>
    %p = graph.mul %low, %ht : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xf16>
    %wide = graph.cast %p : tensor<3xf16> to tensor<3xf32>
    %next = graph.add %sum, %wide : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.scan_yield %d, %next : tensor<3xf32>, tensor<3xf32>
  }
  train.update @w, %b : tensor<3xf32>
  train.yield %l : tensor<f32>
}
