// RUN: mpc-opt %s --split-input-file --mpc-attach-loss | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-attach-loss | mpc-opt --split-input-file --mpc-attach-loss | FileCheck %s

// The loss is the network's own output. Batch norm, dropout and the RNG counter are in both forms.
// CHECK: train.metrics = [{axis = 1 : i64, ignore = 2 : i64, kind = "accuracy", labels = "y", logits = "logits", name = "accuracy"}]
module {
  train.variable @scale parameter : tensor<3xf32> = #train.fill<1.0>
  train.variable @bias parameter : tensor<3xf32> = #train.fill<0.0>
  train.variable @running_mean buffer : tensor<3xf32> = #train.fill<0.0>
  train.variable @running_var buffer : tensor<3xf32> = #train.fill<1.0>
  train.variable @"rng.seed" rng : tensor<i64> = dense<1> : tensor<i64>
  train.variable @"rng.step" counter : tensor<i64> = dense<0> : tensor<i64>

  // CHECK-LABEL: train.step @main
  // CHECK-SAME: train.labels_below = 3 : i64, train.name = "y"
  // CHECK: graph.batch_norm
  // CHECK: train.assign @running_mean
  // CHECK: train.assign @running_var
  // CHECK: graph.dropout
  // CHECK: %[[STEP:.*]] = train.read @rng.step
  // CHECK: graph.add %[[STEP]]
  // CHECK: train.assign @rng.step
  // CHECK: train.yield %{{.*}} : tensor<f32>

  // CHECK-LABEL: func.func @eval
  // CHECK-SAME: train.role = "sample_loss"
  // CHECK-SAME: train.role = "sample_weight"
  // CHECK-SAME: train.name = "logits", train.role = "output"
  // CHECK-NOT: graph.batch_norm %
  // CHECK-NOT: dropout
  // CHECK-NOT: train.assign
  // CHECK: %[[M:.*]] = train.read @running_mean
  // CHECK: %[[V:.*]] = train.read @running_var
  // CHECK: %[[Y:.*]] = graph.batch_norm_inference %{{.*}}, %{{.*}}, %{{.*}}, %[[M]], %[[V]]
  // The weights are per class and one label is ignored, so the divisor is the weight of the labels that count.
  // CHECK: %[[LOSS:.*]] = graph.nll_loss
  // CHECK-SAME: ignore_index = 2 : i64, reduction = #graph<reduction none>
  // CHECK: %[[VALID:.*]] = graph.compare ne
  // CHECK: graph.gather
  // CHECK: %[[WEIGHT:.*]] = graph.select %[[VALID]]
  // CHECK: return %[[LOSS]], %[[WEIGHT]], %[[Y]]

  // CHECK-LABEL: func.func @predict
  // CHECK-SAME: ({{[^,]*}}: tensor<8x3xf32> {train.batched, train.name = "x"}) -> (tensor<8x3xf32> {train.batched, train.name = "logits", train.role = "output"})
  func.func @forward(%x: tensor<8x3xf32> {train.name = "x", train.batched}, %labels: tensor<8xi64> {train.name = "y", train.batched})
      -> (tensor<f32> {train.name = "loss"}) {
    %s = train.read @scale : tensor<3xf32>
    %b = train.read @bias : tensor<3xf32>
    %y, %m, %v = graph.batch_norm %x, %s, %b {epsilon = 1.0e-5 : f64, axis = 1 : i64, train.running_mean = @running_mean, train.running_variance = @running_var}
      : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>)
    %keep = graph.constant dense<0.9> : tensor<f32>
    %take = graph.constant dense<0.1> : tensor<f32>
    %rm = train.read @running_mean : tensor<3xf32>
    %rm0 = graph.mul %rm, %keep : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %rm1 = graph.mul %m, %take : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %rm2 = graph.add %rm0, %rm1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    train.assign @running_mean, %rm2 : tensor<3xf32>
    %rv = train.read @running_var : tensor<3xf32>
    %rv0 = graph.mul %rv, %keep : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %rv1 = graph.mul %v, %take : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %rv2 = graph.add %rv0, %rv1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    train.assign @running_var, %rv2 : tensor<3xf32>
    %seed = train.read @"rng.seed" : tensor<i64>
    %step = train.read @"rng.step" : tensor<i64>
    %d = graph.dropout %y, %seed, %step {ratio = 0.5 : f64, salt = 1 : i64} : (tensor<8x3xf32>, tensor<i64>, tensor<i64>) -> tensor<8x3xf32>
    %lp = graph.log_softmax %d {axis = 1 : i64} : tensor<8x3xf32>
    %w = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %l = graph.nll_loss %lp, %labels, %w {reduction = #graph<reduction mean>, ignore_index = 2 : i64} : (tensor<8x3xf32>, tensor<8xi64>, tensor<3xf32>) -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

// An attention drops probabilities in training alone.
module {
  train.variable @"rng.seed" rng : tensor<i64> = dense<1> : tensor<i64>
  train.variable @"rng.step" counter : tensor<i64> = dense<0> : tensor<i64>
  train.variable @w parameter : tensor<6xf32> = #train.fill<1.0>

  // CHECK-LABEL: train.step @main
  // CHECK: graph.attention %{{.*}} mask %{{.*}} dropout %{{.*}} {after = 0 : i64, ratio = {{.*}}, salt = 3 : i64, scale = {{.*}}}
  // CHECK-LABEL: func.func @eval
  // CHECK: graph.attention %{{.*}} mask %{{[^ ]*}} {after = 0 : i64, scale = 2.500000e-01 : f64}
  // CHECK-LABEL: func.func @predict
  // CHECK: graph.attention %{{.*}} mask %{{[^ ]*}} {after = 0 : i64, scale = 2.500000e-01 : f64}
  func.func @forward(%x: tensor<2x4x5x6xf32> {train.name = "x", train.batched}, %mask: tensor<2x1x1x5xi1> {train.name = "mask", train.batched},
                     %target: tensor<2x4x5x6xf32> {train.name = "target", train.batched}) -> (tensor<2x4x5x6xf32> {train.name = "y"}, tensor<f32> {train.name = "loss"}) {
    %seed = train.read @"rng.seed" : tensor<i64>
    %step = train.read @"rng.step" : tensor<i64>
    %w = train.read @w : tensor<6xf32>
    %q = graph.mul %x, %w : (tensor<2x4x5x6xf32>, tensor<6xf32>) -> tensor<2x4x5x6xf32>
    %y:3 = graph.attention %q, %x, %x mask %mask dropout %seed, %step {scale = 0.25 : f64, after = 0 : i64, ratio = 0.5 : f64, salt = 3 : i64}
      : (tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>, tensor<2x1x1x5xi1>, tensor<i64>, tensor<i64>) -> (tensor<2x4x5x6xf32>, tensor<2x4x5x1xf32>, tensor<2x4x5x1xf32>)
    %d = graph.sub %y#0, %target : (tensor<2x4x5x6xf32>, tensor<2x4x5x6xf32>) -> tensor<2x4x5x6xf32>
    %l = graph.reduce_sum %d {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x4x5x6xf32>) -> tensor<f32>
    return %y#0, %l : tensor<2x4x5x6xf32>, tensor<f32>
  }
}
