// RUN: mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t,probabilities,label_smoothing=0.3,weight=1/2/3 | FileCheck %s
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t,probabilities,ignore_index=1 2>&1 | FileCheck %s --check-prefix=IGNORE
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:i,probabilities 2>&1 | FileCheck %s --check-prefix=INTEGERS

// Labels are floats of the scores' shape; the metric takes the most probable class.
// CHECK: train.metrics = [{axis = 1 : i64, kind = "accuracy", labels = "t", logits = "y", name = "accuracy"}]
// CHECK-LABEL: train.step @main
// CHECK-SAME: %[[T:[^:]*]]: tensor<4x3xf32> {train.batched, train.labels_of = {axis = 1 : i64, name = "y", shape = array<i64: 4, 3>}, train.name = "t"}
// CHECK: %[[P:.*]] = graph.log_softmax %{{.*}} {axis = 1 : i64}
// CHECK: %[[WP:.*]] = graph.mul %[[P]], %{{.*}} : (tensor<4x3xf32>, tensor<3xf32>)
// CHECK: %[[KEPT:.*]] = graph.mul %[[T]]
// CHECK: graph.constant dense<1.000000e-01>
// CHECK: %[[SHARES:.*]] = graph.add %[[KEPT]]
// CHECK: %[[TERMS:.*]] = graph.mul %[[SHARES]], %[[WP]]
// CHECK: %[[SUM:.*]] = graph.reduce_sum %[[TERMS]] {axes = array<i64: 1>
// CHECK: %[[COSTS:.*]] = graph.neg %[[SUM]]
// CHECK: graph.reduce_mean %[[COSTS]]

// Each sample counts once, whatever the weights of its classes are.
// CHECK-LABEL: func.func @eval
// CHECK: %[[COSTS:.*]] = graph.neg
// CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: return %[[COSTS]], %[[ONE]], %{{.*}} : tensor<4xf32>, tensor<4xf32>, tensor<4x3xf32>

// IGNORE: error: loss 'softmax_cross_entropy:y:t,probabilities,ignore_index=1': no label is ignored where labels are probabilities of classes
// IGNORE: hint: leave ignore_index out; without label_smoothing, a label whose probabilities are all 0 costs nothing
// INTEGERS: error: input 'i' is tensor<4x3xi64>, but labels that are probabilities are floats
// INTEGERS: hint: leave probabilities out
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.batched, train.name = "x"}, %i: tensor<4x3xi64> {train.batched, train.name = "i"}) -> (tensor<4x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}
