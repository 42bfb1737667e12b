// RUN: mpc-opt %s --mpc-autocast=type=fp16 | FileCheck %s

// The products of the body are low. The carried value stays f32, and is cast where a product reads it; so is the weight, once for all iterations after mpc-simplify. The bias is that of a low op,
// and the stacked result has the type in which the body computes it.
// CHECK-LABEL: train.step @main
// CHECK: %[[W:.*]] = train.read @w : tensor<4x4xf32>
// CHECK: %[[FINAL:.*]], %[[STACK:.*]] = graph.scan 3 carry(%{{.*}} : tensor<2x4xf32>) with(%[[W]], %{{.*}} : tensor<4x4xf32>, tensor<4xf32>) over(%{{.*}} : tensor<3x2x4xf32>) -> (tensor<2x4xf32>) stack(tensor<3x2x4xf16>)
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<2x4xf32>, %[[WB:.*]]: tensor<4x4xf32>, %[[B:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<2x4xf32>):
// CHECK-DAG: %[[H16:.*]] = graph.cast %[[H]] {mpc.reason = "matmul computes in f16"} : tensor<2x4xf32> to tensor<2x4xf16>
// CHECK-DAG: %[[W16:.*]] = graph.cast %[[WB]] {mpc.reason = "matmul computes in f16"} : tensor<4x4xf32> to tensor<4x4xf16>
// CHECK: graph.matmul %[[H16]], %[[W16]] : (tensor<2x4xf16>, tensor<4x4xf16>) -> tensor<2x4xf16>
// CHECK: %[[SUM:.*]] = graph.add %{{.*}} : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
// CHECK: %[[Y:.*]] = graph.tanh %[[SUM]] : tensor<2x4xf16>
// CHECK: %[[NEXT:.*]] = graph.add
// CHECK-SAME: -> tensor<2x4xf32>
// CHECK: graph.scan_yield %[[NEXT]], %[[Y]] : tensor<2x4xf32>, tensor<2x4xf16>
// CHECK: graph.cast %[[STACK]]
train.variable @w parameter : tensor<4x4xf32> = #train.fill<0.5 : f64>
train.variable @b parameter : tensor<4xf32> = #train.fill<0.5 : f64>
train.step @main(%x: tensor<3x2x4xf32>, %h0: tensor<2x4xf32>) -> tensor<f32> attributes {parameters = [@w, @b], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %w = train.read @w : tensor<4x4xf32>
  %b = train.read @b : tensor<4xf32>
  %last, %all = graph.scan 3 carry(%h0 : tensor<2x4xf32>) with(%w, %b : tensor<4x4xf32>, tensor<4xf32>) over(%x : tensor<3x2x4xf32>) -> (tensor<2x4xf32>) stack(tensor<3x2x4xf32>) {
  ^bb0(%h: tensor<2x4xf32>, %wb: tensor<4x4xf32>, %bb: tensor<4xf32>, %xt: tensor<2x4xf32>):
    %0 = graph.matmul %h, %wb : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = graph.add %0, %bb : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %2 = graph.tanh %1 : tensor<2x4xf32>
    %3 = graph.add %2, %xt : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    graph.scan_yield %3, %2 : tensor<2x4xf32>, tensor<2x4xf32>
  }
  %s = graph.reduce_sum %all {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<3x2x4xf32>) -> tensor<f32>
  train.yield %s : tensor<f32>
}
