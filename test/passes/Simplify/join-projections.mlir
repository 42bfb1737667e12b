// RUN: mpc-opt %s --split-input-file --mpc-join-projections | FileCheck %s

// Queries, keys and values of one tensor are one product, with one bias.
// CHECK: %[[W:.*]] = graph.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x24xf32>
// CHECK: %[[P:.*]] = graph.matmul %arg0, %[[W]]
// CHECK-NOT: graph.matmul
// CHECK: graph.add %[[P]]
// CHECK: %[[ROWS:.*]] = graph.reshape {{.*}} to tensor<2x4x6x4xf32>
// CHECK: graph.slice %[[ROWS]] {{.*}}starts = array<i64: 0, 0, 0, 0>
// CHECK: graph.slice %[[ROWS]] {{.*}}starts = array<i64: 0, 0, 2, 0>
// CHECK: graph.slice %[[ROWS]] {{.*}}starts = array<i64: 0, 0, 4, 0>
// CHECK: graph.attention
train.variable @wq parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wk parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wv parameter : tensor<8x8xf32> = #train.fill<1.0>
train.step @main(%x: tensor<2x4x8xf32>, %qbias: tensor<8xf32>, %kbias: tensor<8xf32>, %vbias: tensor<8xf32>) -> tensor<f32> attributes {parameters = [@wq, @wk, @wv], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %qw = train.read @wq : tensor<8x8xf32>
  %qp = graph.matmul %x, %qw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %qa = graph.add %qp, %qbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %qr = graph.reshape %qa : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %q = graph.transpose %qr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %kw = train.read @wk : tensor<8x8xf32>
  %kp = graph.matmul %x, %kw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %ka = graph.add %kp, %kbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %kr = graph.reshape %ka : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %k = graph.transpose %kr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %vw = train.read @wv : tensor<8x8xf32>
  %vp = graph.matmul %x, %vw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %va = graph.add %vp, %vbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %vr = graph.reshape %va : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %v = graph.transpose %vr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %y, %largest, %log_sum = graph.attention %q, %k, %v {scale = 5.0e-1 : f64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4x1xf32>, tensor<2x2x4x1xf32>)
  %l = graph.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x2x4x4xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

// A decoder's queries come from another tensor than the keys and values, which have fewer heads here.
// CHECK: graph.matmul %arg0
// CHECK: %[[W:.*]] = graph.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
// CHECK: graph.matmul %arg1, %[[W]]
// CHECK-NOT: graph.matmul
// CHECK: graph.attention
train.variable @wq parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wk parameter : tensor<8x4xf32> = #train.fill<1.0>
train.variable @wv parameter : tensor<8x4xf32> = #train.fill<1.0>
train.step @main(%x: tensor<2x4x8xf32>, %read: tensor<2x4x8xf32>) -> tensor<f32> attributes {parameters = [@wq, @wk, @wv], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %qw = train.read @wq : tensor<8x8xf32>
  %qp = graph.matmul %x, %qw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %qr = graph.reshape %qp : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %q = graph.transpose %qr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %kw = train.read @wk : tensor<8x4xf32>
  %kp = graph.matmul %read, %kw : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
  %kr = graph.reshape %kp : tensor<2x4x4xf32> to tensor<2x4x1x4xf32>
  %k = graph.transpose %kr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x1x4xf32>) -> tensor<2x1x4x4xf32>
  %vw = train.read @wv : tensor<8x4xf32>
  %vp = graph.matmul %read, %vw : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
  %vr = graph.reshape %vp : tensor<2x4x4xf32> to tensor<2x4x1x4xf32>
  %v = graph.transpose %vr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x1x4xf32>) -> tensor<2x1x4x4xf32>
  %y, %largest, %log_sum = graph.attention %q, %k, %v {scale = 5.0e-1 : f64} : (tensor<2x2x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4x1xf32>, tensor<2x2x4x1xf32>)
  %l = graph.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x2x4x4xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

// One product would compute the gradients of the weights that are not trained, too.
// CHECK-NOT: graph.concat
// CHECK-COUNT-3: graph.matmul
// CHECK-NOT: graph.concat
// CHECK: graph.attention
train.variable @wq parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wk parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wv parameter : tensor<8x8xf32> = #train.fill<1.0>
train.step @main(%x: tensor<2x4x8xf32>, %qbias: tensor<8xf32>, %kbias: tensor<8xf32>, %vbias: tensor<8xf32>) -> tensor<f32> attributes {parameters = [@wv], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %qw = train.read @wq : tensor<8x8xf32>
  %qp = graph.matmul %x, %qw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %qa = graph.add %qp, %qbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %qr = graph.reshape %qa : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %q = graph.transpose %qr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %kw = train.read @wk : tensor<8x8xf32>
  %kp = graph.matmul %x, %kw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %ka = graph.add %kp, %kbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %kr = graph.reshape %ka : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %k = graph.transpose %kr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %vw = train.read @wv : tensor<8x8xf32>
  %vp = graph.matmul %x, %vw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %va = graph.add %vp, %vbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %vr = graph.reshape %va : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %v = graph.transpose %vr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %y, %largest, %log_sum = graph.attention %q, %k, %v {scale = 5.0e-1 : f64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4x1xf32>, tensor<2x2x4x1xf32>)
  %l = graph.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x2x4x4xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}

// -----

// The keys before the bias are read again, so they stay a product of their own, and with them the values.
// CHECK-NOT: graph.concat
// CHECK-COUNT-3: graph.matmul
// CHECK: graph.attention
train.variable @wq parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wk parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wv parameter : tensor<8x8xf32> = #train.fill<1.0>
train.step @main(%x: tensor<2x4x8xf32>, %qbias: tensor<8xf32>, %kbias: tensor<8xf32>, %vbias: tensor<8xf32>) -> tensor<f32> attributes {parameters = [@wq, @wk, @wv], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %qw = train.read @wq : tensor<8x8xf32>
  %qp = graph.matmul %x, %qw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %qa = graph.add %qp, %qbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %qr = graph.reshape %qa : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %q = graph.transpose %qr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %kw = train.read @wk : tensor<8x8xf32>
  %kp = graph.matmul %x, %kw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %ka = graph.add %kp, %kbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %kr = graph.reshape %ka : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %k = graph.transpose %kr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %vw = train.read @wv : tensor<8x8xf32>
  %vp = graph.matmul %x, %vw : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %va = graph.add %vp, %vbias : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %vr = graph.reshape %va : tensor<2x4x8xf32> to tensor<2x4x2x4xf32>
  %v = graph.transpose %vr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
  %y, %largest, %log_sum = graph.attention %q, %k, %v {scale = 5.0e-1 : f64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4x1xf32>, tensor<2x2x4x1xf32>)
  %n = graph.reduce_sum %kp {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<2x4x8xf32>) -> tensor<f32>
  %l = graph.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<2x2x4x4xf32>) -> tensor<f32>
  %m = graph.add %l, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
  train.yield %m : tensor<f32>
}

// -----

// Four rows are fewer than the eight of the weights, whose copies would take longer than the products.
// CHECK-NOT: graph.concat
// CHECK-COUNT-3: graph.matmul
// CHECK: graph.attention
train.variable @wq parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wk parameter : tensor<8x8xf32> = #train.fill<1.0>
train.variable @wv parameter : tensor<8x8xf32> = #train.fill<1.0>
train.step @main(%x: tensor<1x4x8xf32>, %qbias: tensor<8xf32>, %kbias: tensor<8xf32>, %vbias: tensor<8xf32>) -> tensor<f32> attributes {parameters = [@wq, @wk, @wv], optimizer = #train.optimizer<sgd>, scaler = #train.scaler<none>} {
  %qw = train.read @wq : tensor<8x8xf32>
  %qp = graph.matmul %x, %qw : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %qa = graph.add %qp, %qbias : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %qr = graph.reshape %qa : tensor<1x4x8xf32> to tensor<1x4x2x4xf32>
  %q = graph.transpose %qr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
  %kw = train.read @wk : tensor<8x8xf32>
  %kp = graph.matmul %x, %kw : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %ka = graph.add %kp, %kbias : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %kr = graph.reshape %ka : tensor<1x4x8xf32> to tensor<1x4x2x4xf32>
  %k = graph.transpose %kr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
  %vw = train.read @wv : tensor<8x8xf32>
  %vp = graph.matmul %x, %vw : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %va = graph.add %vp, %vbias : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %vr = graph.reshape %va : tensor<1x4x8xf32> to tensor<1x4x2x4xf32>
  %v = graph.transpose %vr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
  %y, %largest, %log_sum = graph.attention %q, %k, %v {scale = 5.0e-1 : f64} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x1xf32>, tensor<1x2x4x1xf32>)
  %l = graph.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>, keepdims = false} : (tensor<1x2x4x4xf32>) -> tensor<f32>
  train.yield %l : tensor<f32>
}
