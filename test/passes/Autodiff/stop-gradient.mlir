// RUN: mpc-opt --mpc-autodiff %s | FileCheck %s

// A gradient stop passes its cotangent to nobody; behind the pass each is its operand, in all entries.
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>

// CHECK-LABEL: train.step @main
// CHECK: %[[W:.*]] = train.read @w
// CHECK: %[[S:.*]] = graph.mul %{{.*}}, %[[W]]
// CHECK-NOT: graph.stop_gradient
// CHECK: graph.mul %[[S]], %[[W]]
// CHECK: train.seed
// CHECK: %[[DW:.*]] = graph.mul %{{.*}}, %[[S]]
// CHECK-NOT: graph.add
// CHECK: train.update @w, %[[DW]]
train.step @main(%x: tensor<4xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %w = train.read @w : tensor<4xf32>
  %0 = graph.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.stop_gradient %0 : tensor<4xf32>
  %2 = graph.mul %1, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.reduce_sum %2 {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32>
  train.yield %3 : tensor<f32>
}

// CHECK-LABEL: func.func @predict
// CHECK-NEXT: return %{{.*}} : tensor<4xf32>
func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.stop_gradient %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
