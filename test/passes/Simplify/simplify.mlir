// RUN: mpc-opt %s --mpc-simplify | FileCheck %s
// RUN: mpc-opt %s --mpc-simplify | mpc-opt --mpc-simplify | FileCheck %s

train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>

// CHECK-LABEL: func.func @f
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // 2*3 + sqrt(4) = 8
  // CHECK-DAG: %[[EIGHT:.*]] = graph.constant dense<8.000000e+00> : tensor<f32>
  // CHECK-DAG: %[[W:.*]] = train.read @w
  // CHECK-NOT: train.read
  %two = graph.constant dense<2.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %four = graph.constant dense<4.0> : tensor<f32>
  %six = graph.mul %two, %three : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %root = graph.sqrt %four : tensor<f32>
  %eight = graph.add %six, %root : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %w = train.read @w : tensor<4xf32>
  %v = train.read @w : tensor<4xf32>
  %dead = graph.exp %w : tensor<4xf32>
  // CHECK: %[[S:.*]] = graph.add %[[W]], %[[W]]
  // CHECK-NEXT: %[[P:.*]] = graph.mul %[[S]], %[[EIGHT]]
  %s = graph.add %w, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %p = graph.mul %s, %eight : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // x + 0 stays, because it is not x for -0.
  // CHECK-NEXT: %[[Z:.*]] = graph.add %[[X]]
  // CHECK-NEXT: return %[[P]], %[[Z]]
  %zero = graph.constant dense<0.0> : tensor<f32>
  %z = graph.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %p, %z : tensor<4xf32>, tensor<4xf32>
}

// Assignments stay, in order, although nothing reads them here.
// CHECK-LABEL: train.step @main
train.step @main(%x: tensor<4xf32>, %l: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  // CHECK: train.assign @w
  train.assign @w, %x : tensor<4xf32>
  train.yield %l : tensor<f32>
}
