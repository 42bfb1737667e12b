// RUN: mpc-opt %s --split-input-file --mpc-attach-loss="loss=softmax_cross_entropy:out:labels,ignore_index=0 metric=accuracy:out:labels,perplexity:out:labels" | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-attach-loss="loss=softmax_cross_entropy:out:labels,axis=1 metric=accuracy:out:labels,perplexity:out:labels" | FileCheck %s --check-prefix=FIRST
// RUN: mpc-opt %s --split-input-file --mpc-attach-loss="loss=softmax_cross_entropy:out:labels,axis=-2 metric=accuracy:out:labels,accuracy:other:labels" | FileCheck %s --check-prefix=MIDDLE

// There are as many time steps as classes, so that the labels fit both dimensions. A metric that names the network's softmax counts the classes where
// the loss does, although the loss takes the softmax's input, and leaves out the labels that the loss leaves out. Perplexity takes that input as well.
// CHECK: train.metrics = [{axis = 2 : i64, ignore = 0 : i64, kind = "accuracy", labels = "labels", logits = "out", name = "accuracy"},
// CHECK-SAME: {axis = 2 : i64, ignore = 0 : i64, kind = "perplexity", labels = "labels", logits = "out.scores", name = "perplexity"}]
// The loss takes dimension 1 here, which is not the softmax's.
// FIRST: train.metrics = [{axis = 1 : i64, kind = "accuracy", labels = "labels", logits = "out", name = "accuracy"},
// FIRST-SAME: {axis = 1 : i64, kind = "perplexity", labels = "labels", logits = "out", name = "perplexity"}]
// MIDDLE: train.metrics = [{axis = 1 : i64, kind = "accuracy"
train.variable @w parameter : tensor<4x3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<8x3x4xf32> {train.name = "x", train.batched}) -> (tensor<8x3x3xf32> {train.name = "out"}, tensor<8x3x3xf32> {train.name = "other"}) {
  %w = train.read @w : tensor<4x3xf32>
  %z = graph.matmul %x, %w : (tensor<8x3x4xf32>, tensor<4x3xf32>) -> tensor<8x3x3xf32>
  %s = graph.softmax %z {axis = 2 : i64} : tensor<8x3x3xf32>
  return %s, %z : tensor<8x3x3xf32>, tensor<8x3x3xf32>
}

// -----

// CHECK: train.metrics = [{axis = 1 : i64, ignore = 0 : i64, kind = "accuracy"
// With its classes in the middle the loss transposes its scores. The metric of the same output does not, and that of an output with the classes at the end takes those.
// MIDDLE: train.metrics = [{axis = 2 : i64, kind = "accuracy", labels = "labels", logits = "out", name = "accuracy"}, {axis = 3 : i64, kind = "accuracy", labels = "labels", logits = "other", name = "accuracy:other:labels"}]
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<8x5x4x3xf32> {train.name = "x", train.batched}) -> (tensor<8x5x4x3xf32> {train.name = "out"}, tensor<8x5x3x4xf32> {train.name = "other"}) {
  %w = train.read @w : tensor<3xf32>
  %z = graph.mul %x, %w : (tensor<8x5x4x3xf32>, tensor<3xf32>) -> tensor<8x5x4x3xf32>
  %s = graph.softmax %z {axis = 1 : i64} : tensor<8x5x4x3xf32>
  %t = graph.transpose %z {permutation = array<i64: 0, 1, 3, 2>} : (tensor<8x5x4x3xf32>) -> tensor<8x5x3x4xf32>
  return %s, %t : tensor<8x5x4x3xf32>, tensor<8x5x3x4xf32>
}

// -----

// The loss makes rows of its scores, which have the shape of the other output, whose rank is not that of the loss's axis.
// MIDDLE: train.metrics
// CHECK: train.metrics
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<8x3x1xf32> {train.name = "x", train.batched}) -> (tensor<8x3x1xf32> {train.name = "out"}, tensor<8x3xf32> {train.name = "other"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.reshape %x : tensor<8x3x1xf32> to tensor<8x3xf32>
  %z = graph.mul %y, %w : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
  %r = graph.reshape %z : tensor<8x3xf32> to tensor<8x3x1xf32>
  return %r, %z : tensor<8x3x1xf32>, tensor<8x3xf32>
}
