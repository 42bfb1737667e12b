// RUN: mpc-opt %s --mpc-assign-orders --split-input-file | FileCheck %s

// Transposes sink through bias, batch norm, relu and pooling. The input is stored transposed, and one transpose is left before the flatten.
// CHECK-LABEL: @block
// CHECK-SAME: %[[X:.*]]: tensor<2x8x8x3xf32> {train.permutation = array<i64: 0, 2, 3, 1>}
// CHECK-NOT: graph.transpose
// CHECK: graph.conv %[[X]], %{{.*}} {{.*}}channels_last
// CHECK: graph.add {{.*}} : (tensor<2x8x8x4xf32>, tensor<1x1x1x4xf32>)
// CHECK: graph.batch_norm {{.*}} {axis = 3 : i64
// CHECK: graph.relu
// CHECK: graph.max_pool {{.*}}channels_last
// CHECK: graph.transpose {{.*}}permutation = array<i64: 0, 3, 1, 2>
// CHECK: graph.reshape
func.func @block(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %b: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<2x64xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.reshape %b : tensor<4xf32> to tensor<4x1x1xf32>
  %2 = graph.add %0, %1 : (tensor<2x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<2x4x8x8xf32>
  %3:3 = graph.batch_norm %2, %s, %b {epsilon = 1.0e-5 : f64, axis = 1 : i64} : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  %4 = graph.relu %3#0 : tensor<2x4x8x8xf32>
  %5:2 = graph.max_pool %4 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4x4xi16>)
  %6 = graph.reshape %5#0 : tensor<2x4x4x4xf32> to tensor<2x64xf32>
  return %6 : tensor<2x64xf32>
}

// -----
// Global pooling removes the transpose altogether.
// CHECK-LABEL: @global_pool
// CHECK: graph.conv
// CHECK-NEXT: graph.reduce_mean {{.*}}axes = array<i64: 1, 2>{{.*}} -> tensor<2x4xf32>
// CHECK-NEXT: return
func.func @global_pool(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.reduce_mean %0 {axes = array<i64: 2, 3>, keepdims = false} : (tensor<2x4x8x8xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----
// A dropout's mask depends on the order of its elements, so the transpose stays where it is.
// CHECK-LABEL: @dropout
// CHECK: graph.conv
// CHECK: graph.transpose
// CHECK: graph.dropout {{.*}} -> tensor<2x4x8x8xf32>
func.func @dropout(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %seed: tensor<i64>) -> tensor<2x4x8x8xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.dropout %0, %seed, %seed {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<2x4x8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4x8x8xf32>
  return %1 : tensor<2x4x8x8xf32>
}

// -----
// The mask of a dropout of whole samples does not, so the transpose moves.
// CHECK-LABEL: @drop_samples
// CHECK: graph.conv
// CHECK-NEXT: graph.dropout {{.*}}shared = array<i64: 1, 2, 3>{{.*}} -> tensor<2x8x8x4xf32>
// CHECK-NEXT: graph.relu
func.func @drop_samples(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %seed: tensor<i64>) -> tensor<2x4x8x8xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.dropout %0, %seed, %seed {ratio = 0.5 : f64, salt = 3 : i64, shared = array<i64: 1, 2, 3>} : (tensor<2x4x8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4x8x8xf32>
  %2 = graph.relu %1 : tensor<2x4x8x8xf32>
  return %2 : tensor<2x4x8x8xf32>
}

// -----
// A dropout of channels would draw other numbers, so the transpose stays.
// CHECK-LABEL: @drop_channels
// CHECK: graph.transpose
// CHECK: graph.dropout {{.*}} -> tensor<2x4x8x8xf32>
func.func @drop_channels(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %seed: tensor<i64>) -> tensor<2x4x8x8xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.dropout %0, %seed, %seed {ratio = 0.5 : f64, salt = 3 : i64, shared = array<i64: 2, 3>} : (tensor<2x4x8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4x8x8xf32>
  return %1 : tensor<2x4x8x8xf32>
}

// -----
// Without an op that has a layout there is nothing to do.
// CHECK-LABEL: @untouched
// CHECK-NEXT: graph.relu
// CHECK-NEXT: return
func.func @untouched(%x: tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32> {
  %0 = graph.relu %x : tensor<2x3x8x8xf32>
  return %0 : tensor<2x3x8x8xf32>
}

// -----
// At three dimensions both permutations are [0, 2, 1]. The pass must end even if the network has a transpose of its own between elementwise ops.
// CHECK-LABEL: @one_dimension
// CHECK: graph.conv {{.*}}channels_last
// CHECK: graph.add {{.*}}(tensor<2x9x4xf32>, tensor<1x1x4xf32>)
// CHECK-NOT: graph.transpose
// CHECK: graph.matmul
func.func @one_dimension(%x: tensor<2x4x9xf32>, %w: tensor<4x4x3xf32>, %b: tensor<4xf32>, %m: tensor<4x5xf32>) -> tensor<2x9x5xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, groups = 1 : i64} : (tensor<2x4x9xf32>, tensor<4x4x3xf32>) -> tensor<2x4x9xf32>
  %1 = graph.reshape %b : tensor<4xf32> to tensor<1x4x1xf32>
  %2 = graph.add %0, %1 : (tensor<2x4x9xf32>, tensor<1x4x1xf32>) -> tensor<2x4x9xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x9xf32>) -> tensor<2x9x4xf32>
  %4 = graph.matmul %3, %m : (tensor<2x9x4xf32>, tensor<4x5xf32>) -> tensor<2x9x5xf32>
  return %4 : tensor<2x9x5xf32>
}

// -----
// A vision transformer's patches are a convolution whose pixels are put in a row, with channels last. No transpose is left.
// CHECK-LABEL: @patches
// CHECK: %[[C:.*]] = graph.conv {{.*}} -> tensor<2x4x4x8xf32>
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[C]] : tensor<2x4x4x8xf32> to tensor<2x16x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @patches(%x: tensor<2x3x16x16xf32>, %w: tensor<8x3x4x4xf32>) -> tensor<2x16x8xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : (tensor<2x3x16x16xf32>, tensor<8x3x4x4xf32>) -> tensor<2x8x4x4xf32>
  %1 = graph.reshape %0 : tensor<2x8x4x4xf32> to tensor<2x8x16xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1>} : (tensor<2x8x16xf32>) -> tensor<2x16x8xf32>
  return %2 : tensor<2x16x8xf32>
}

// -----
// Norms move with their operands, both norms of groups of channels and layer norms over channels.
// CHECK-LABEL: @norms
// CHECK-NOT: graph.transpose
// CHECK: graph.group_norm {{.*}}axis = 3 : i64{{.*}} -> (tensor<2x8x8x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
// CHECK: graph.layer_norm {{.*}}axes = array<i64: 3>{{.*}} -> (tensor<2x8x8x4xf32>, tensor<2x8x8x1xf32>, tensor<2x8x8x1xf32>)
// CHECK: graph.reduce_l2 {{.*}}axes = array<i64: 1, 2>
func.func @norms(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %s: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1:3 = graph.group_norm %0, %s, %s {epsilon = 1.0e-5 : f64, axis = 1 : i64, groups = 2 : i64} : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
  %2 = graph.reshape %s : tensor<4xf32> to tensor<4x1x1xf32>
  %3:3 = graph.layer_norm %1#0, %2, %2 {axes = array<i64: 1>, epsilon = 1.0e-5 : f64, kind = #graph<norm layer>} : (tensor<2x4x8x8xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>) -> (tensor<2x4x8x8xf32>, tensor<2x1x8x8xf32>, tensor<2x1x8x8xf32>)
  %4 = graph.reduce_l2 %3#0 {axes = array<i64: 2, 3>, keepdims = false} : (tensor<2x4x8x8xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// -----
// A product reads a transposed weight, and its weight gradient is computed in the order in which the weight is stored.
// CHECK-LABEL: @weights
// CHECK-NOT: graph.transpose
// CHECK: graph.matmul %arg0, %arg1 {transpose_b} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
// CHECK: graph.matmul %arg2, %arg0 {transpose_a} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
// CHECK: graph.sub %arg1
func.func @weights(%x: tensor<6x4xf32>, %w: tensor<8x4xf32>, %dy: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %0 = graph.transpose %w {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %1 = graph.matmul %x, %0 : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %2 = graph.matmul %x, %dy {transpose_a} : (tensor<6x4xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %4 = graph.sub %w, %3 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1, %4 : tensor<6x8xf32>, tensor<8x4xf32>
}

// -----
// The rows of a product may come in any order: those of [tokens, samples] are computed as [samples, tokens], through a reshape that makes one dimension of both.
// CHECK-LABEL: @rows
// CHECK-NOT: graph.transpose
// CHECK: graph.matmul %{{.*}} : (tensor<2x5x4xf32>, tensor<4x8xf32>) -> tensor<2x5x8xf32>
// CHECK-NOT: graph.transpose
// CHECK: graph.tanh %{{.*}} : tensor<2x5x8xf32>
// CHECK-NOT: graph.transpose
func.func @rows(%x: tensor<2x5x4xf32>, %w: tensor<4x8xf32>) -> tensor<2x5x8xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x5x4xf32>) -> tensor<5x2x4xf32>
  %1 = graph.reshape %0 : tensor<5x2x4xf32> to tensor<10x4xf32>
  %2 = graph.matmul %1, %w : (tensor<10x4xf32>, tensor<4x8xf32>) -> tensor<10x8xf32>
  %3 = graph.tanh %2 : tensor<10x8xf32>
  %4 = graph.reshape %3 : tensor<10x8xf32> to tensor<5x2x8xf32>
  %5 = graph.transpose %4 {permutation = array<i64: 1, 0, 2>} : (tensor<5x2x8xf32>) -> tensor<2x5x8xf32>
  return %5 : tensor<2x5x8xf32>
}

// -----
// The heads of an attention lie in front of its matrices, so the queries are transposed once. The keys are not transposed a second time.
// CHECK-LABEL: @heads
// CHECK-COUNT-1: graph.transpose
// CHECK-NOT: graph.transpose
// CHECK: graph.matmul %{{.*}}, %{{.*}} {transpose_b} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x5x5xf32>
// CHECK-NEXT: return
func.func @heads(%x: tensor<2x5x12xf32>) -> tensor<2x3x5x5xf32> {
  %0 = graph.reshape %x : tensor<2x5x12xf32> to tensor<2x5x3x4xf32>
  %1 = graph.tanh %0 : tensor<2x5x3x4xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
  %3 = graph.transpose %1 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x4x5xf32>
  %4 = graph.matmul %2, %3 : (tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x5x5xf32>
  return %4 : tensor<2x3x5x5xf32>
}

// -----
// The transpose that has to stay is that of the smallest value.
// CHECK-LABEL: @smallest
// CHECK: graph.conv
// CHECK-NEXT: graph.relu %{{.*}} : tensor<2x8x8x4xf32>
// CHECK-NEXT: graph.slice
// CHECK-NEXT: graph.transpose %{{.*}} : (tensor<2x2x2x4xf32>) -> tensor<2x4x2x2xf32>
// CHECK-NEXT: return
func.func @smallest(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x4x2x2xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.relu %0 : tensor<2x4x8x8xf32>
  %2 = graph.slice %1 {starts = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 4, 2, 2>, strides = array<i64: 1, 1, 1, 1>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x2x2xf32>
  return %2 : tensor<2x4x2x2xf32>
}

// -----
// The transposes of a network that was written channels-last vanish, and so does the one between its samples' pixels.
// CHECK-LABEL: @exported_last
// CHECK-SAME: %[[X:.*]]: tensor<2x8x8x3xf32>,
// CHECK-NOT: graph.transpose
// CHECK: graph.conv %[[X]]
// CHECK-NOT: graph.transpose
// CHECK: return %{{.*}} : tensor<2x8x8x4xf32>
func.func @exported_last(%x: tensor<2x8x8x3xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<2x8x8x4xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x8x8x3xf32>) -> tensor<2x3x8x8xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x4x8x8xf32>) -> tensor<2x8x8x4xf32>
  %3 = graph.relu %2 : tensor<2x8x8x4xf32>
  return %3 : tensor<2x8x8x4xf32>
}

// -----
// A product of 8-bit floats reads its factors along k, as precision has copied them.
// CHECK-LABEL: @float8
// CHECK: graph.transpose
// CHECK: graph.matmul %{{.*}}, %{{.*}} : (tensor<4x8xf8E4M3FN>, tensor<8x4xf8E4M3FN>) -> tensor<4x4xf32>
func.func @float8(%a: tensor<4x8xf8E4M3FN>, %b: tensor<4x8xf8E4M3FN>) -> tensor<4x4xf32> {
  %0 = graph.transpose %b {permutation = array<i64: 1, 0>} : (tensor<4x8xf8E4M3FN>) -> tensor<8x4xf8E4M3FN>
  %1 = graph.matmul %a, %0 : (tensor<4x8xf8E4M3FN>, tensor<8x4xf8E4M3FN>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----
// A GPU kernel is no entry, and stays as it is.
// CHECK-LABEL: llvm.func @kernel(%arg0: !llvm.ptr<1>)
llvm.func @kernel(%x: !llvm.ptr<1>) {
  llvm.return
}
