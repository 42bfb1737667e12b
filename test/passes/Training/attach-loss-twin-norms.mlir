// RUN: mpc-opt %s --mpc-simplify --mpc-attach-loss=loss=mse:y:t | FileCheck %s

// Two norms of one input compute the same in training, but each has running statistics of its own, by which evaluation normalises.
train.variable @s parameter : tensor<3xf32> = #train.fill<1.0>
train.variable @m1 buffer : tensor<3xf32> = #train.fill<0.0>
train.variable @v1 buffer : tensor<3xf32> = #train.fill<1.0>
train.variable @m2 buffer : tensor<3xf32> = #train.fill<2.0>
train.variable @v2 buffer : tensor<3xf32> = #train.fill<3.0>

// CHECK-LABEL: func.func @predict
// CHECK-DAG: %[[M1:.*]] = train.read @m1
// CHECK-DAG: %[[V1:.*]] = train.read @v1
// CHECK-DAG: %[[M2:.*]] = train.read @m2
// CHECK-DAG: %[[V2:.*]] = train.read @v2
// CHECK-DAG: %[[Y:.*]] = graph.batch_norm_inference %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[M1]], %[[V1]]
// CHECK-DAG: %[[Z:.*]] = graph.batch_norm_inference %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[M2]], %[[V2]]
// CHECK: return %[[Y]], %[[Z]]
func.func @forward(%x: tensor<4x3x2xf32> {train.name = "x", train.batched}) -> (tensor<4x3x2xf32> {train.name = "y"}, tensor<4x3x2xf32> {train.name = "z"}) {
  %s = train.read @s : tensor<3xf32>
  %y, %m, %v = graph.batch_norm %x, %s, %s {epsilon = 1.0e-5 : f64, axis = 1 : i64, train.running_mean = @m1, train.running_variance = @v1}
    : (tensor<4x3x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  %z, %n, %w = graph.batch_norm %x, %s, %s {epsilon = 1.0e-5 : f64, axis = 1 : i64, train.running_mean = @m2, train.running_variance = @v2}
    : (tensor<4x3x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  train.assign @m1, %m : tensor<3xf32>
  train.assign @v1, %v : tensor<3xf32>
  train.assign @m2, %n : tensor<3xf32>
  train.assign @v2, %w : tensor<3xf32>
  return %y, %z : tensor<4x3x2xf32>, tensor<4x3x2xf32>
}
