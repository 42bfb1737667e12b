// RUN: mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:logits:labels | FileCheck %s --check-prefixes=CHECK,LAST
// RUN: mpc-opt %s --mpc-attach-loss | FileCheck %s --check-prefixes=CHECK,LAST,INFERRED
// RUN: mpc-opt %s --mpc-attach-loss="loss=softmax_cross_entropy:logits:labels,axis=1,ignore_index=7" | FileCheck %s --check-prefix=FIRST
// RUN: mpc-opt %s --mpc-attach-loss="loss=softmax_cross_entropy:logits:labels,label_smoothing=0.5,weight=1/2/3" | FileCheck %s --check-prefix=SMOOTH

// Tokens have their classes at the end, so each label has a row of scores, which is a view; labels are [N, T].
// LAST: module attributes {train.assumed = ["--loss=softmax_cross_entropy:logits:labels
// INFERRED-SAME: : the only float output is taken for scores
// LAST-SAME: the classes are dimension 2 of 'logits' [8,5,3], the labels 'labels' are [8,5]"]
// LAST-SAME: train.metrics = [{axis = 2 : i64, kind = "accuracy", labels = "labels", logits = "logits", name = "accuracy"}]
// CHECK-LABEL: train.step @main(
// CHECK-SAME: %[[L:[^ ]*]]: tensor<8x5xi64> {train.batched, train.labels_below = 3 : i64, train.labels_ignore = -100 : i64,
// INFERRED-SAME: train.labels_of = {assumed, axis = 2 : i64, name = "logits", shape = array<i64: 8, 5, 3>}
// CHECK: %[[Z:.*]] = graph.matmul
// CHECK-DAG: %[[ROWS:.*]] = graph.reshape %[[Z]] : tensor<8x5x3xf32> to tensor<40x3xf32>
// CHECK-DAG: %[[LABELS:.*]] = graph.reshape %[[L]] : tensor<8x5xi64> to tensor<40xi64>
// CHECK: graph.softmax_cross_entropy %[[ROWS]], %[[LABELS]] {ignore_index = -100 : i64, reduction = #graph<reduction mean>}

// Each sample's losses and labels are its own; the logits keep their shape and name.
// CHECK-LABEL: func.func @eval(
// CHECK-SAME: -> (tensor<8xf32> {train.batched, train.name = "sample_loss", train.role = "sample_loss"}, tensor<8xf32> {train.batched, train.name = "sample_weight", train.role = "sample_weight"}, tensor<8x5x3xf32> {train.batched, train.name = "logits", train.role = "output"})

// FIRST: module attributes {train.metrics = [{axis = 1 : i64,
// FIRST-NOT: train.assumed
// FIRST-LABEL: train.step @main(
// FIRST-SAME: tensor<8x3xi64> {train.batched, train.labels_below = 5 : i64, train.labels_ignore = 7 : i64
// FIRST: %[[Z:.*]] = graph.matmul
// FIRST: graph.softmax_cross_entropy %[[Z]], %{{.*}} {ignore_index = 7 : i64

// SMOOTH-LABEL: train.step @main(
// SMOOTH: %[[W:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// SMOOTH: %[[P:.*]] = graph.log_softmax
// SMOOTH: %[[HARD:.*]] = graph.nll_loss %[[P]], %{{.*}}, %[[W]] {ignore_index = -100 : i64, reduction = #graph<reduction none>}
// SMOOTH: graph.mul %[[P]]
// SMOOTH: %[[COUNTS:.*]] = graph.compare ne
// SMOOTH: graph.select %[[COUNTS]]
// SMOOTH: %[[COSTS:.*]] = graph.sub
// SMOOTH: %[[SUM:.*]] = graph.reduce_sum %[[COSTS]]
// SMOOTH: %[[WEIGHT:.*]] = graph.reduce_sum
// SMOOTH: graph.div %[[SUM]], %[[WEIGHT]]
// The loss still splits by samples.
// SMOOTH-LABEL: func.func @eval(
// SMOOTH-SAME: tensor<8xf32> {train.batched, train.name = "sample_weight", train.role = "sample_weight"}, tensor<8x5x3xf32> {train.batched, train.name = "logits"
train.variable @w parameter : tensor<4x3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<8x5x4xf32> {train.name = "x", train.batched}) -> (tensor<8x5x3xf32> {train.name = "logits"}) {
  %w = train.read @w : tensor<4x3xf32>
  %z = graph.matmul %x, %w : (tensor<8x5x4xf32>, tensor<4x3xf32>) -> tensor<8x5x3xf32>
  return %z : tensor<8x5x3xf32>
}
