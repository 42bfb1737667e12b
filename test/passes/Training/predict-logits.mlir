// RUN: mpc-opt %s --mpc-attach-loss=loss=output:loss | FileCheck %s
// RUN: sed 's/TOKENS/logits/' %s | mpc-opt --mpc-attach-loss=loss=output:loss | FileCheck %s --check-prefix=NAMED
// RUN: sed 's/return %loss, %z/return %loss, %other/; s/TOKENS/logits/' %s | mpc-opt --mpc-attach-loss=loss=output:loss | FileCheck %s --check-prefix=TAKEN
// RUN: sed 's/%other = graph.exp %z : tensor<8x5x3xf32>/%other = graph.cast %z : tensor<8x5x3xf32> to tensor<8x5x3xi32>/; s/return %loss, %z : tensor<f32>, tensor<8x5x3xf32>/return %loss, %other : tensor<f32>, tensor<8x5x3xi32>/; s/(tensor<f32> {train.name = "loss"}, tensor<8x5x3xf32>/(tensor<f32> {train.name = "loss"}, tensor<8x5x3xi32>/' %s | mpc-opt --mpc-attach-loss=loss=output:loss | FileCheck %s --check-prefix=CAST

// The loss classifies rows that are a view of an output: predict returns the output alone, whatever its name is.
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: -> (tensor<8x5x3xf32> {train.batched, train.name = "TOKENS", train.role = "output"})
// NAMED-LABEL: func.func @predict(
// NAMED-SAME: -> (tensor<8x5x3xf32> {train.batched, train.name = "logits", train.role = "output"})
// An output of other numbers keeps the name `logits`, and both are returned.
// TAKEN-LABEL: func.func @predict(
// TAKEN-SAME: -> (tensor<8x5x3xf32> {train.batched, train.name = "logits", train.role = "output"}, tensor<40x3xf32> {train.batched, train.name = "loss.logits", train.role = "output"})
// An output that is a cast of the scores is not they.
// CAST-LABEL: func.func @predict(
// CAST-SAME: -> (tensor<8x5x3xi32> {train.batched, train.name = "TOKENS", train.role = "output"}, tensor<40x3xf32> {train.batched, train.name = "logits", train.role = "output"})
train.variable @w parameter : tensor<4x3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<8x5x4xf32> {train.name = "x", train.batched}, %labels: tensor<8x5xi64> {train.name = "labels", train.batched}) -> (tensor<f32> {train.name = "loss"}, tensor<8x5x3xf32> {train.name = "TOKENS"}) {
  %w = train.read @w : tensor<4x3xf32>
  %z = graph.matmul %x, %w : (tensor<8x5x4xf32>, tensor<4x3xf32>) -> tensor<8x5x3xf32>
  %other = graph.exp %z : tensor<8x5x3xf32>
  %rows = graph.reshape %z : tensor<8x5x3xf32> to tensor<40x3xf32>
  %flat = graph.reshape %labels : tensor<8x5xi64> to tensor<40xi64>
  %loss = graph.softmax_cross_entropy %rows, %flat {ignore_index = -100 : i64, reduction = #graph<reduction mean>} : (tensor<40x3xf32>, tensor<40xi64>) -> tensor<f32>
  return %loss, %z : tensor<f32>, tensor<8x5x3xf32>
}
