// RUN: mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:frames:length | FileCheck %s --check-prefixes=CHECK,MOST
// RUN: mpc-opt %s --mpc-attach-loss=loss=ctc:y:t::length,max_target=3,zero_infinity,reduction=sum | FileCheck %s --check-prefix=ALL
// RUN: mpc-opt %s --mpc-attach-loss=loss=ctc:turned:t:frames:length,max_target=3 | FileCheck %s --check-prefix=TURNED
// RUN: mpc-opt %s --mpc-attach-loss=loss=ctc:square:t:frames:length,max_target=3 | FileCheck %s --check-prefix=SQUARE

// Two samples of five frames have scores of four classes. What nobody said is noted: targets are as long as the frames, which is the most that they can spell.
// MOST: module attributes {train.assumed = ["--loss=ctc:y:t:frames:length,batch_first=true,max_target=5: 'y' [2,5,4] has 5 frames of 2 samples, the targets 't' are [2,5]"],
// MOST-SAME: train.metrics = [{axis = 1 : i64, kind = "token_error_rate", labels = "t", logits = "y.decoded", name = "token_error_rate"}]}
// CHECK-LABEL: train.step @main(
// CHECK-SAME: tensor<2x5xi64> {train.batched, train.name = "t", train.sequences = {blank = 0 : i64, classes = 4 : i64, frames = 5 : i64, input_lengths = "frames", lengths = "length"}}
// CHECK-SAME: tensor<2xi64> {train.batched, train.lengths_up_to = 5 : i64, train.name = "frames"}
// CHECK-SAME: tensor<2xi64> {train.batched, train.lengths_up_to = 5 : i64, train.name = "length"}

// There is a log-softmax, over the classes, and the states of both samples are gathered in one op. The 11 states become 16, so that slices are where tensors start.
// CHECK: graph.log_softmax {{.*}} {axis = 2 : i64} : tensor<5x2x4xf32>
// CHECK: %[[Y:.*]] = graph.gather {{.*}} {axis = 1 : i64} : (tensor<5x8xf32>, tensor<2x16xi64>) -> tensor<5x2x16xf32>
// An iteration has two frames; the sixth one is outside for every sample.
// CHECK: graph.pad {{.*}} {high = array<i64: 1, 0, 0>, {{.*}} value = 1.000000e+00 : f64} : (tensor<5x2x16xf32>) -> tensor<6x2x16xf32>
// CHECK: graph.scan 3 carry
// CHECK: graph.scan 3 reverse carry
// An alignment that does not exist makes loss and gradients infinite: callers may give batches that nobody has checked.
// CHECK: graph.constant dense<0x7F800000> : tensor<f32>

// Evaluation needs no gradient, and has a loss for each sample. The runtime counts errors in the decoded label of each frame.
// CHECK-LABEL: func.func @eval(
// CHECK-SAME: tensor<2xf32> {{{.*}}train.name = "sample_loss"
// CHECK-SAME: tensor<2x5xi64> {train.batched, train.name = "y.decoded", train.role = "output"}
// CHECK: graph.scan 3 carry
// CHECK-NOT: graph.scan 3 reverse

// ALL: train.assumed = ["--loss=ctc:y:t::length,batch_first=true: 'y' [2,5,4] has 5 frames of 2 samples, the targets 't' are [2,3]"]
// ALL-LABEL: train.step @main(
// ALL-NOT: train.name = "frames"
// ALL: graph.scan 3 reverse carry
// ALL-NOT: dense<0x7F800000>
// ALL: graph.reduce_sum {{.*}} {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>

// The dimension that counts the samples is followed through the network.
// TURNED: batch_first=false: 'turned' [5,2,4] has 5 frames of 2 samples
// SQUARE: batch_first=false: 'square' [2,2,4] has 2 frames of 2 samples
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<2x5x4xf32> {train.name = "x", train.batched})
    -> (tensor<2x5x4xf32> {train.name = "y"}, tensor<5x2x4xf32> {train.name = "turned"}, tensor<2x2x4xf32> {train.name = "square"}) {
  %w = train.read @w : tensor<4xf32>
  %y = graph.mul %x, %w : (tensor<2x5x4xf32>, tensor<4xf32>) -> tensor<2x5x4xf32>
  %t = graph.transpose %y {permutation = array<i64: 1, 0, 2>} : (tensor<2x5x4xf32>) -> tensor<5x2x4xf32>
  %s = graph.slice %t {starts = array<i64: 0, 0, 0>, sizes = array<i64: 2, 2, 4>, strides = array<i64: 1, 1, 1>} : (tensor<5x2x4xf32>) -> tensor<2x2x4xf32>
  return %y, %t, %s : tensor<2x5x4xf32>, tensor<5x2x4xf32>, tensor<2x2x4xf32>
}
