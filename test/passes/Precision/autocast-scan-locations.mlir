// RUN: mpc-opt %s --mpc-autocast=type=fp16 --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// A carried value is made in no node of the body, so its cast has the location of the product that it serves: errors name that node. The cast of an invariant has the location of its operand.
// CHECK-LABEL: @main
// CHECK: ^bb0(%[[H:[a-z0-9]+]]: tensor<2x4xf32> {{.*}}, %[[W:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-DAG: graph.cast %[[H]] {{.*}} loc("product")
// CHECK-DAG: graph.cast %[[W]] {{.*}} loc("weight")
train.variable @w parameter : tensor<4x4xf32> = #train.fill<0.5 : f64>
train.step @main(%h0: tensor<2x4xf32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %w = train.read @w : tensor<4x4xf32>
  %last = graph.scan 3 carry(%h0 : tensor<2x4xf32>) with(%w : tensor<4x4xf32>) -> (tensor<2x4xf32>) {
  ^bb0(%h: tensor<2x4xf32> loc(unknown), %wb: tensor<4x4xf32> loc("weight")):
    %0 = graph.matmul %h, %wb : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("product")
    %1 = graph.exp %0 : tensor<2x4xf32>
    graph.scan_yield %1 : tensor<2x4xf32>
  }
  %s = graph.reduce_sum %last {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x4xf32>) -> tensor<f32>
  train.yield %s : tensor<f32>
}
