// RUN: mpc-opt %s --mpc-master-weights | FileCheck %s
// RUN: mpc-opt %s --mpc-master-weights | mpc-opt --mpc-master-weights | FileCheck %s

// CHECK: train.variable @w parameter : tensor<4xf32>
train.variable @w parameter : tensor<4xf32> = dense<1.0> : tensor<4xf32>
train.variable @frozen parameter : tensor<4xf32> = #train.fill<2.0>
train.variable @stat buffer : tensor<4xf32> = #train.fill<0.0>
// CHECK-DAG: train.variable @"w/f16" copy : tensor<4xf16> = #train.copy_of<@w> {of = @w}
// CHECK-DAG: train.variable @"w/bf16" copy : tensor<4xbf16> = #train.copy_of<@w> {of = @w}
// CHECK-DAG: train.variable @"frozen/f16" copy
// CHECK-NOT: @"stat/f16"

// CHECK-LABEL: train.step @main
train.step @main() -> tensor<f16> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // CHECK-NEXT: %[[W16:.*]] = train.read @"w/f16"
  // CHECK-NEXT: %[[W:.*]] = train.read @w : tensor<4xf32>
  // CHECK-NEXT: %[[F:.*]] = train.read @"frozen/f16"
  // CHECK-NOT: train.read @frozen :
  %w = train.read @w : tensor<4xf32>
  %w16 = graph.cast %w : tensor<4xf32> to tensor<4xf16>
  %f = train.read @frozen : tensor<4xf32>
  %f16 = graph.cast %f : tensor<4xf32> to tensor<4xf16>
  // CHECK: %[[S:.*]] = train.read @stat
  // CHECK-NEXT: graph.cast %[[S]]
  %s = train.read @stat : tensor<4xf32>
  %s16 = graph.cast %s : tensor<4xf32> to tensor<4xf16>
  // CHECK: graph.mul %[[W16]], %[[F]]
  %p = graph.mul %w16, %f16 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %q = graph.mul %p, %s16 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %l = graph.reduce_sum %q {axes = array<i64: 0>, keepdims = false} : (tensor<4xf16>) -> tensor<f16>
  // CHECK: %[[NEW:.*]] = graph.add %[[W]], %[[W]]
  // CHECK-NEXT: train.assign @w, %[[NEW]]
  // CHECK-NEXT: %[[N16:.*]] = graph.cast %[[NEW]] : tensor<4xf32> to tensor<4xf16>
  // CHECK-NEXT: train.assign @"w/f16", %[[N16]]
  // CHECK-NEXT: %[[B16:.*]] = graph.cast %[[NEW]] : tensor<4xf32> to tensor<4xbf16>
  // CHECK-NEXT: train.assign @"w/bf16", %[[B16]]
  // CHECK-NEXT: train.yield
  %new = graph.add %w, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  train.assign @w, %new : tensor<4xf32>
  train.yield %l : tensor<f16>
}

// CHECK-LABEL: func.func @predict
func.func @predict() -> tensor<4xbf16> {
  // CHECK-NEXT: %[[B:.*]] = train.read @"w/bf16"
  // CHECK-NEXT: return %[[B]]
  %w = train.read @w : tensor<4xf32>
  %wb = graph.cast %w : tensor<4xf32> to tensor<4xbf16>
  return %wb : tensor<4xbf16>
}
