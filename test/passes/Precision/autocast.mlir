// RUN: mpc-opt %s --split-input-file --mpc-autocast=opt-level=O1 | FileCheck %s --check-prefixes=CHECK,O1
// RUN: mpc-opt %s --split-input-file --mpc-autocast=opt-level=O2 | FileCheck %s --check-prefixes=CHECK,O2
// RUN: mpc-opt %s --split-input-file --mpc-autocast=opt-level=O3 | FileCheck %s --check-prefixes=CHECK,O3

// As in attention, a softmax is between two products. O1 computes it on fp32 storage, and O2 keeps low storage.
train.variable @w parameter : tensor<4x4xf32> = dense<[[1.0, 0.1, 0.0, 70000.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]> : tensor<4x4xf32>
// O1: @w parameter : tensor<4x4xf32>
// O2: @w parameter : tensor<4x4xf32>
// O3: @w parameter : tensor<4x4xf16> = {{.*}}1.000000e+00, 9.997550e-02, 0.000000e+00, 0x7C00
// CHECK-LABEL: func.func @predict
func.func @predict(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = train.read @w : tensor<4x4xf32>
  %s = graph.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  // O1: graph.cast {{.*}} {mpc.reason = "softmax needs f32"}
  // O1: graph.softmax {{.*}} : tensor<2x4xf32>
  // O1: graph.cast {{.*}} {mpc.reason = "matmul computes in f16"}
  // O2: %[[S:.*]] = graph.matmul
  // O2-NEXT: graph.softmax %[[S]] {{.*}} : tensor<2x4xf16>
  // O3: graph.softmax {{.*}} : tensor<2x4xf16>
  %p = graph.softmax %s {axis = 1 : i64} : tensor<2x4xf32>
  // CHECK: %[[Y:.*]] = graph.matmul {{.*}} -> tensor<2x4xf16>
  // CHECK-NEXT: %[[R:.*]] = graph.cast %[[Y]] {mpc.reason = "results of an entry keep their type"}
  // CHECK-NEXT: return %[[R]]
  %y = graph.matmul %p, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Batch normalisation takes low activations with fp32 scale and statistics at every level. Assigned values keep their type.
train.variable @w parameter : tensor<3x2x1x1xf32> = #train.fill<1.0>
train.variable @scale parameter : tensor<3xf32> = #train.fill<1.0>
train.variable @bias parameter : tensor<3xf32> = #train.fill<0.0>
train.variable @mean buffer : tensor<3xf32> = #train.fill<0.0>
// O2: @scale parameter : tensor<3xf32>
// O3: @scale parameter : tensor<3xf16>
// O3: @mean buffer : tensor<3xf32>
// CHECK-LABEL: train.step @main
train.step @main(%x: tensor<2x2x4x4xf32>) -> tensor<f32> attributes {parameters = [@w, @scale, @bias], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %w = train.read @w : tensor<3x2x1x1xf32>
  // O3: %[[S16:.*]] = train.read @scale : tensor<3xf16>
  // O3-NEXT: %[[S:.*]] = graph.cast %[[S16]] {mpc.reason = "batch_norm takes operand 1 in f32"}
  %s = train.read @scale : tensor<3xf32>
  %b = train.read @bias : tensor<3xf32>
  %c = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64}
    : (tensor<2x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<2x3x4x4xf32>
  // CHECK: %[[Y:.*]], %[[M:.*]], %{{.*}} = graph.batch_norm {{.*}} : (tensor<2x3x4x4xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x4xf16>, tensor<3xf32>, tensor<3xf32>)
  %y, %m, %v = graph.batch_norm %c, %s, %b {epsilon = 1.0e-5 : f64, axis = 1 : i64}
    : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: graph.mul %[[M]], {{.*}} -> tensor<3xf32>
  %old = train.read @mean : tensor<3xf32>
  %tenth = graph.constant dense<0.1> : tensor<f32>
  %kept = graph.constant dense<0.9> : tensor<f32>
  %new = graph.mul %m, %tenth : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %stay = graph.mul %old, %kept : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  // CHECK: graph.add {{.*}} -> tensor<3xf32>
  %sum = graph.add %stay, %new : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK-NEXT: train.assign @mean, {{.*}} : tensor<3xf32>
  train.assign @mean, %sum : tensor<3xf32>
  // A sum needs fp32, and a constant does not widen, so there is one cast.
  // CHECK: graph.mul %[[Y]], {{.*}} : (tensor<2x3x4x4xf16>, tensor<f16>) -> tensor<2x3x4x4xf16>
  %h = graph.mul %y, %tenth : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4x4xf32>
  // CHECK: graph.cast {{.*}} {mpc.reason = "reduce_sum needs f32"}
  %l = graph.reduce_sum %h {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x3x4x4xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

// All uses of a value share one cast, also through reshapes. An addition of two products of different parameters is not a bias.
train.variable @w parameter : tensor<4x4xf32> = #train.fill<1.0>
// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32>
func.func @shared(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %[[X16:.*]] = graph.cast %[[X]]
  // CHECK-NOT: graph.cast %[[X]]
  %t = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: %[[T:.*]] = graph.transpose %[[X16]] {{.*}} -> tensor<4x4xf16>
  // CHECK: graph.matmul %[[X16]], %[[T]]
  %a = graph.matmul %x, %t : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = graph.matmul %x, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

// A constant that f16 cannot hold widens; a mixed addition of values takes the wider type at O1.
// CHECK-LABEL: func.func @mask
func.func @mask(%x: tensor<4x4xf32>, %m: tensor<4x4xi1>) -> tensor<4x4xf32> {
  %a = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %big = graph.constant dense<-1.0e9> : tensor<f32>
  // CHECK: graph.cast {{.*}} {mpc.reason = "select takes the widest of its operands' types, f32"}
  // CHECK: graph.select {{.*}} -> tensor<4x4xf32>
  %b = graph.select %m, %a, %big : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  // O1: graph.add {{.*}} -> tensor<4x4xf32>
  %c = graph.add %b, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}

// -----

// Nothing changes here: there are no low types, only fp32 ops, integers and f64.
// CHECK-LABEL: func.func @nothing
func.func @nothing(%x: tensor<4xf32>, %i: tensor<4xi64>, %d: tensor<4x4xf64>) -> (tensor<4xf32>, tensor<4xi64>, tensor<4x4xf64>) {
  // CHECK-NOT: graph.cast
  %a = graph.exp %x : tensor<4xf32>
  %b = graph.add %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %c = graph.matmul %d, %d : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %a, %b, %c : tensor<4xf32>, tensor<4xi64>, tensor<4x4xf64>
}

// -----

// The bits of a float are those of its type, so a result in f16 is widened again.
train.variable @w parameter : tensor<4x4xf32> = dense<1.0> : tensor<4x4xf32>
// CHECK-LABEL: func.func @bits
func.func @bits(%x: tensor<2x4xf32>) -> tensor<2x4xi32> {
  %w = train.read @w : tensor<4x4xf32>
  %y = graph.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  // CHECK: %[[Y:.*]] = graph.matmul {{.*}} -> tensor<2x4xf16>
  // CHECK-NEXT: %[[WIDE:.*]] = graph.cast %[[Y]] {mpc.reason = "bitcast needs f32"} : tensor<2x4xf16> to tensor<2x4xf32>
  // CHECK-NEXT: graph.bitcast %[[WIDE]]
  %bits = graph.bitcast %y : tensor<2x4xf32> to tensor<2x4xi32>
  return %bits : tensor<2x4xi32>
}
