// RUN: mpc-opt %s --mpc-attach-loss --split-input-file --verify-diagnostics

// Either of two outputs could be meant.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: 2 outputs are float tensors, and one is needed}}
// expected-note-re@+1 {{hint: say what is trained: --loss=softmax_cross_entropy:LOGITS:LABELS, {{.*}}; the outputs are 'y', 'z'}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}, tensor<4x3xf32> {train.name = "z"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %z = graph.exp %y : tensor<4x3xf32>
  return %y, %z : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// No output is of floats. An output that has no name is called by its number.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: 0 outputs are float tensors, and one is needed}}
// expected-note-re@+1 {{hint: say what is trained: {{.*}}; the outputs are 'output0'}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> tensor<4xi64> {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %i = graph.argmax %y {axis = 1 : i64, keepdims = false} : (tensor<4x3xf32>) -> tensor<4xi64>
  return %i : tensor<4xi64>
}

// -----

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' is of rank 4, and scores of classes are of rank 2 or 3}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x5x6x3xf32> {train.name = "x", train.batched}) -> (tensor<4x5x6x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x5x6x3xf32>, tensor<3xf32>) -> tensor<4x5x6x3xf32>
  return %y : tensor<4x5x6x3xf32>
}

// -----

// One number for each sample is not the loss of the batch, and for a single sample it is no loss either.
train.variable @w parameter : tensor<1xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' is of rank 1, and scores of classes are of rank 2 or 3}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<1xf32> {train.name = "x", train.batched}) -> (tensor<1xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<1xf32>
  %y = graph.mul %x, %w : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: the leading dimension of output 'y' does not count the samples of the batch}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<3x4xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %p = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %y = graph.transpose %p {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' is made by Clip, so it is no score of a class}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %p = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %y = graph.clip %p {min = 0.0 : f64, max = 6.0 : f64} : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// Views and casts after the op change nothing.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' is made by Sigmoid, so it is no score of a class}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x1x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf64> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %p = graph.mul %x, %w : (tensor<4x1x3xf32>, tensor<3xf32>) -> tensor<4x1x3xf32>
  %s = graph.sigmoid %p : tensor<4x1x3xf32>
  %v = graph.reshape %s : tensor<4x1x3xf32> to tensor<4x3xf32>
  %y = graph.cast %v : tensor<4x3xf32> to tensor<4x3xf64>
  return %y : tensor<4x3xf64>
}

// -----

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' is made by Tanh, so it is no score of a class}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %p = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %y = graph.tanh %p : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// A softmax is undone only where the output is the softmax itself.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' is a softmax that was reshaped or transposed since}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x5x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3x5xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %p = graph.mul %x, %w : (tensor<4x5x3xf32>, tensor<3xf32>) -> tensor<4x5x3xf32>
  %s = graph.softmax %p {axis = 2 : i64} : tensor<4x5x3xf32>
  %y = graph.transpose %s {permutation = array<i64: 0, 2, 1>} : (tensor<4x5x3xf32>) -> tensor<4x3x5xf32>
  return %y : tensor<4x3x5xf32>
}

// -----

train.variable @w parameter : tensor<6xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' is a softmax that was reshaped or transposed since}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x6xf32> {train.name = "x", train.batched}) -> (tensor<4x2x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<6xf32>
  %p = graph.mul %x, %w : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %s = graph.log_softmax %p {axis = 1 : i64} : tensor<4x6xf32>
  %y = graph.reshape %s : tensor<4x6xf32> to tensor<4x2x3xf32>
  return %y : tensor<4x2x3xf32>
}

// -----

train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' has its classes where the batch is}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %p = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %y = graph.softmax %p {axis = 0 : i64} : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

train.variable @w parameter : tensor<1xf32> = #train.fill<1.0>
// expected-error@+2 {{none can be inferred: output 'y' has fewer than two classes}}
// expected-note@+1 {{hint: say what is trained: --loss=}}
func.func @forward(%x: tensor<4x1xf32> {train.name = "x", train.batched}) -> (tensor<4x1xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<1xf32>
  %y = graph.mul %x, %w : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  return %y : tensor<4x1xf32>
}

// -----

// The losses of a GAN's two networks: to take one of them would train half of the model.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{any of 2 outputs may be the loss, since each is one number: 'd_loss', 'g_loss'}}
// expected-note@+1 {{hint: say which is trained: --loss=output:d_loss; to train several, give each an optimizer and its parameters: --step=first:loss=output:d_loss:params=REGEX --step=second:loss=output:g_loss:params=REGEX}}
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "fake"}, tensor<f32> {train.name = "d_loss"}, tensor<1x1xf32> {train.name = "g_loss"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %d = graph.reduce_mean %y {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x3xf32>) -> tensor<f32>
  %s = graph.exp %y : tensor<4x3xf32>
  %g = graph.reduce_mean %s {axes = array<i64: 0, 1>, keepdims = true} : (tensor<4x3xf32>) -> tensor<1x1xf32>
  return %y, %d, %g : tensor<4x3xf32>, tensor<f32>, tensor<1x1xf32>
}

// -----

// In a batch of one sample, an output that mixes more than the sample may be a loss as well.
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
// expected-error@+2 {{any of 2 outputs may be the loss, since each is one number: 'd_loss', 'g_loss'}}
// expected-note@+1 {{hint: say which is trained: --loss=output:d_loss; }}
func.func @forward(%x: tensor<1x3xf32> {train.name = "x", train.batched}) -> (tensor<f32> {train.name = "d_loss"}, tensor<1xf32> {train.name = "g_loss"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  %d = graph.reduce_mean %y {axes = array<i64: 0, 1>, keepdims = false} : (tensor<1x3xf32>) -> tensor<f32>
  %m = graph.reduce_mean %y {axes = array<i64: 0, 1>, keepdims = false} : (tensor<1x3xf32>) -> tensor<f32>
  %g = graph.reshape %m : tensor<f32> to tensor<1xf32>
  return %d, %g : tensor<f32>, tensor<1xf32>
}
