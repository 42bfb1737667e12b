// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:length 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:n:n 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:flat:t:frames:length 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:frames:length,batch_first=false 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:lost:t:frames:length 2>&1 | FileCheck %s --check-prefix=LOST
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:mixed:t:frames:length 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:frames:length,blank=4 2>&1 | FileCheck %s --check-prefix=BLANK
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:own:frames:length,max_target=7 2>&1 | FileCheck %s --check-prefix=MOST
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:x:length 2>&1 | FileCheck %s --check-prefix=FLOAT
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:frames:flat 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:frames:length,zero_infinity=maybe 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not mpc-opt %s --mpc-attach-loss=loss=ctc:y:t:frames:length,reduction=none 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not mpc-opt %s --mpc-attach-loss=loss=mse:y:t,zero_infinity 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not mpc-opt %s --mpc-attach-loss="loss=ctc:y:t:frames:length metric=token_error_rate,token_error_rate,accuracy,token_error_rate:y:t" 2>&1 | FileCheck %s --check-prefix=METRIC
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t metric=token_error_rate" 2>&1 | FileCheck %s --check-prefix=RATE

// NAMES: error: loss 'ctc' does not find its three inputs in 't:length'
// NAMES: note: hint: write ctc:LOGITS:TARGETS:INPUT_LENGTHS:TARGET_LENGTHS; INPUT_LENGTHS may be empty, then every sample has all frames
// TWICE: error: loss 'ctc' names one input twice in 't:n:n'
// RANK: error: scores of a CTC loss are [T, N, C] or [N, T, C], but 'flat' [2,20] is not
// RANK: note: hint: name the output with the scores of the frames
// FIRST: error: batch_first=false, but dimension 1 of 'y' [2,5,4] does not count the 2 samples
// FIRST: note: hint: leave batch_first out: the other dimension does
// LOST: error: neither dimension 0 nor 1 of 'lost' [5,4,2] counts the 2 samples of a batch
// BOTH: error: dimensions 0 and 1 of 'mixed' [2,2,4] both have the extent of the batch
// BOTH: note: hint: say which counts the samples: --loss=ctc:mixed:t:frames:length,batch_first=true or --loss=ctc:mixed:t:frames:length,batch_first=false; or compile with another --batch
// BLANK: error: blank=4 is no class of 'y' [2,5,4]
// BLANK: note: hint: write a number from 0 to 3
// MOST: error: max_target=7, but input 'own' is [2,3]
// MOST: note: hint: leave max_target out: the network says it
// FLOAT: error: input 'x' is tensor<2x5x4xf32>, but the lengths of the frames of 'y' [2,5,4] should be integers [2]
// FLOAT: note: hint: name another input; a name that is not taken adds one
// OUTPUT: error: the lengths of the targets 'flat' are an output of the network
// FLAG: error: loss 'ctc': zero_infinity='maybe' is not true or false
// NONE: error: loss 'ctc': reduction='none' is not mean or sum: a loss is one number
// OTHER: error: loss 'mse' has no option 'zero_infinity'
// METRIC: error: metric 'token_error_rate' is given twice
// METRIC: error: metric 'accuracy': the loss does not say what it compares; it is no classification whose labels are an input
// METRIC: error: metric 'token_error_rate:y:t' takes no names
// METRIC: note: hint: write token_error_rate: it compares what a ctc loss compares
// RATE: error: metric 'token_error_rate': the loss compares no sequences
// RATE: note: hint: it is for --loss=ctc:LOGITS:TARGETS:INPUT_LENGTHS:TARGET_LENGTHS
train.variable @w parameter : tensor<4xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<2x5x4xf32> {train.name = "x", train.batched}, %own: tensor<2x3xi64> {train.name = "own", train.batched})
    -> (tensor<2x5x4xf32> {train.name = "y"}, tensor<2x20xf32> {train.name = "flat"}, tensor<5x4x2xf32> {train.name = "lost"}, tensor<2x2x4xf32> {train.name = "mixed"}) {
  %w = train.read @w : tensor<4xf32>
  %y = graph.mul %x, %w : (tensor<2x5x4xf32>, tensor<4xf32>) -> tensor<2x5x4xf32>
  %f = graph.reshape %y : tensor<2x5x4xf32> to tensor<2x20xf32>
  %l = graph.transpose %y {permutation = array<i64: 1, 2, 0>} : (tensor<2x5x4xf32>) -> tensor<5x4x2xf32>
  %p = graph.matmul %f, %f {transpose_b} : (tensor<2x20xf32>, tensor<2x20xf32>) -> tensor<2x2xf32>
  %q = graph.reshape %p : tensor<2x2xf32> to tensor<2x2x1xf32>
  %m = graph.broadcast %q : tensor<2x2x1xf32> to tensor<2x2x4xf32>
  return %y, %f, %l, %m : tensor<2x5x4xf32>, tensor<2x20xf32>, tensor<5x4x2xf32>, tensor<2x2x4xf32>
}
