// RUN: mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group={@norms,@biases:wd=0},{@embeddings:lr=2}" | FileCheck %s
// RUN: mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group=scale:wd=0" | FileCheck %s --check-prefix=NAMES
// RUN: mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group={@norms,@biases:wd=0.0},{@embeddings:lr=2}" --mpc-autodiff --mpc-optimizers | FileCheck %s --check-prefix=UPDATE

// The readers of a parameter tell its kinds, also behind ops that only move its elements.
// CHECK-DAG: train.variable @scale parameter : tensor<4xf16> = #train.fill<1.000000e+00 : f64> {train.kinds = ["@norms"]}
// CHECK-DAG: train.variable @shift parameter : tensor<4xf32> = #train.fill<1.000000e+00 : f64> {train.kinds = ["@norms"]}
// CHECK-DAG: train.variable @rms parameter : tensor<4xf32> = #train.fill<1.000000e+00 : f64> {train.kinds = ["@norms"]}
// CHECK-DAG: train.variable @both parameter : tensor<4xf32> = #train.fill<1.000000e+00 : f64> {train.kinds = ["@biases", "@norms"]}
// CHECK-DAG: train.variable @bias parameter : tensor<4xf32> = #train.fill<1.000000e+00 : f64> {train.kinds = ["@biases"]}
// CHECK-DAG: train.variable @rows parameter : tensor<2x4xf32> = #train.fill<1.000000e+00 : f64> {train.kinds = ["@biases"]}
// CHECK-DAG: train.variable @gate parameter : tensor<4xf32> = #train.fill<1.000000e+00 : f64> {train.kinds = ["@biases"]}
// CHECK-DAG: train.variable @table parameter : tensor<9x4xf32> = #train.fill<1.000000e+00 : f64> {train.kinds = ["@embeddings"]}
// A factor of vectors of length 1, positions, weights and buffers are of no kind.
// CHECK-DAG: train.variable @factor parameter : tensor<4xf32> = #train.fill<1.000000e+00 : f64>{{$}}
// CHECK-DAG: train.variable @positions parameter : tensor<3x4xf32> = #train.fill<1.000000e+00 : f64>{{$}}
// CHECK-DAG: train.variable @weight parameter : tensor<4x4xf32> = #train.fill<1.000000e+00 : f64>{{$}}
// CHECK-DAG: train.variable @mean buffer : tensor<4xf32> = #train.fill<0.000000e+00 : f64>{{$}}
// CHECK: groups = [#train.group<"@norms,@biases", weight_decay = 0>, #train.group<"@embeddings", lr = 2>]

// Without a group of kinds, variables stay as they are.
// NAMES-NOT: train.kinds

// UPDATE: %[[LR:.*]] = train.read @"main/lr"
// UPDATE: %[[TWICE:.*]] = graph.mul %[[LR]], %{{.*}} : (tensor<f32>, tensor<f32>)
// UPDATE: %[[TABLE:.*]] = train.read @table
// UPDATE: graph.mul %{{.*}}, %[[TWICE]] : (tensor<9x4xf32>
train.variable @scale parameter : tensor<4xf16> = #train.fill<1.0>
train.variable @shift parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @rms parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @both parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @factor parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @bias parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @rows parameter : tensor<2x4xf32> = #train.fill<1.0>
train.variable @gate parameter : tensor<4xf32> = #train.fill<1.0>
train.variable @table parameter : tensor<9x4xf32> = #train.fill<1.0>
train.variable @positions parameter : tensor<3x4xf32> = #train.fill<1.0>
train.variable @weight parameter : tensor<4x4xf32> = #train.fill<1.0>
train.variable @mean buffer : tensor<4xf32> = #train.fill<0.0>
func.func @forward(%ids: tensor<3xi64> {train.name = "ids", train.batched}) -> (tensor<3x4xf32> {train.name = "y"}) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %zeros = graph.constant dense<0.0> : tensor<4xf32>
  %table = train.read @table : tensor<9x4xf32>
  %0 = graph.gather %table, %ids {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %positions = train.read @positions : tensor<3x4xf32>
  %1 = graph.add %0, %positions : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %scale16 = train.read @scale : tensor<4xf16>
  %scale = graph.cast %scale16 : tensor<4xf16> to tensor<4xf32>
  %shift4 = train.read @shift : tensor<4xf32>
  %shift = graph.reshape %shift4 : tensor<4xf32> to tensor<1x4xf32>
  %2:3 = graph.layer_norm %1, %scale, %shift {axes = array<i64: 1>, epsilon = 1.0e-5 : f64, kind = #graph<norm layer>} : (tensor<3x4xf32>, tensor<4xf32>, tensor<1x4xf32>) -> (tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %weight = train.read @weight : tensor<4x4xf32>
  %3 = graph.matmul %2#0, %weight : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
  %bias = train.read @bias : tensor<4xf32>
  %4 = graph.add %3, %bias : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %both = train.read @both : tensor<4xf32>
  %mean = train.read @mean : tensor<4xf32>
  %5 = graph.batch_norm_inference %4, %both, %zeros, %mean, %scale {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %6 = graph.sub %5, %both : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %rms = train.read @rms : tensor<4xf32>
  %7:3 = graph.layer_norm %6, %rms, %zero {axes = array<i64: 1>, epsilon = 1.0e-5 : f64, kind = #graph<norm rms>} : (tensor<3x4xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %factor = train.read @factor : tensor<4xf32>
  %8:3 = graph.layer_norm %7#0, %factor, %zero {axes = array<i64: 1>, epsilon = 1.0e-5 : f64, kind = #graph<norm l2>} : (tensor<3x4xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %rows = train.read @rows : tensor<2x4xf32>
  %row = graph.slice %rows {starts = array<i64: 1, 0>, sizes = array<i64: 1, 4>, strides = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %9 = graph.reshape %row : tensor<1x4xf32> to tensor<4xf32>
  %10 = graph.add %8#0, %9 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %gate = train.read @gate : tensor<4xf32>
  %h0 = graph.constant dense<0.0> : tensor<4xf32>
  %last, %all = graph.scan 3 carry(%h0 : tensor<4xf32>) with(%gate : tensor<4xf32>) over(%10 : tensor<3x4xf32>) -> (tensor<4xf32>) stack(tensor<3x4xf32>) {
  ^bb0(%h: tensor<4xf32>, %g: tensor<4xf32>, %x: tensor<4xf32>):
    %11 = graph.add %h, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %12 = graph.mul %11, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %12, %12 : tensor<4xf32>, tensor<4xf32>
  }
  return %all : tensor<3x4xf32>
}
