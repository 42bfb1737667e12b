// RUN: mpc-opt %s --mpc-decompose-attention | FileCheck %s
// RUN: mpc-opt %s --mpc-decompose-attention=block-bytes=128 --canonicalize | FileCheck %s --check-prefix=BLOCKS

// CHECK-LABEL: func.func @whole
// CHECK-NOT: graph.scan
// CHECK: %[[S:.*]] = graph.matmul %{{.*}} {transpose_b} : (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>) -> tensor<2x4x8x8xf16>
// CHECK: %[[M:.*]] = graph.reduce_max
// CHECK: %[[E:.*]] = graph.exp
// CHECK: %[[L:.*]] = graph.reduce_sum %[[E]]
// CHECK: %[[P:.*]] = graph.div %[[E]], %[[L]] : (tensor<2x4x8x8xf32>, tensor<2x4x8x1xf32>)
// CHECK: graph.cast %[[P]] : tensor<2x4x8x8xf32> to tensor<2x4x8x8xf16>
// CHECK: graph.matmul
// CHECK-NOT: graph.div
// CHECK-LABEL: func.func @bfloat
// CHECK: %[[E:.*]] = graph.exp
// CHECK: graph.cast %[[E]]
// CHECK: graph.matmul
// CHECK: graph.div

// The scan takes two heads at a time; their scores are four blocks of 128 bytes.
// BLOCKS-LABEL: func.func @whole
// BLOCKS: graph.scan 4 over
// BLOCKS-COUNT-4: graph.matmul %{{.*}} {transpose_b} : (tensor<2x1x2x16xf16>, tensor<2x1x8x16xf16>) -> tensor<2x1x2x8xf16>
// BLOCKS-NOT: transpose_b
// BLOCKS: graph.concat
func.func @whole(%q: tensor<2x4x8x16xf16>, %k: tensor<2x4x8x16xf16>, %v: tensor<2x4x8x16xf16>) -> tensor<2x4x8x16xf16> {
  %y, %largest, %sum = graph.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return %y : tensor<2x4x8x16xf16>
}

// The mask follows from numbers of rows and columns, as exporters write it.
// In bf16 the product is divided, in which there are fewer numbers.
func.func @bfloat(%q: tensor<2x4x8x16xbf16>, %k: tensor<2x4x8x16xbf16>, %v: tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xbf16> {
  %y, %largest, %sum = graph.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>, tensor<2x4x8x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>)
  return %y : tensor<2x4x8x16xbf16>
}

// Eight blocks of two queries see 2, 4, ... 16 keys, and parts of the mask go to them.
// CHECK-LABEL: func.func @causal
// BLOCKS-LABEL: func.func @causal
// BLOCKS: graph.slice %{{.*}} -> tensor<1x1x2x4xi1>
// BLOCKS: graph.scan 4 with
// BLOCKS: graph.matmul %{{.*}} {transpose_b} : (tensor<2x1x2x16xf16>, tensor<2x1x2x16xf16>) -> tensor<2x1x2x2xf16>
// BLOCKS: graph.matmul %{{.*}} {transpose_b} : (tensor<2x1x2x16xf16>, tensor<2x1x4x16xf16>) -> tensor<2x1x2x4xf16>
// BLOCKS: graph.matmul %{{.*}} {transpose_b} : (tensor<2x1x2x16xf16>, tensor<2x1x16x16xf16>) -> tensor<2x1x2x16xf16>
// BLOCKS: graph.concat
func.func @causal(%q: tensor<2x4x16x16xf16>, %k: tensor<2x4x16x16xf16>, %v: tensor<2x4x16x16xf16>) -> tensor<2x4x16x16xf16> {
  %row = graph.iota {axis = 0 : i64} : tensor<16x16xi64>
  %column = graph.iota {axis = 1 : i64} : tensor<16x16xi64>
  %sees = graph.compare le %column, %row : (tensor<16x16xi64>, tensor<16x16xi64>) -> tensor<16x16xi1>
  %mask = graph.reshape %sees : tensor<16x16xi1> to tensor<1x1x16x16xi1>
  %y, %largest, %sum = graph.attention %q, %k, %v mask %mask {scale = 0.25 : f64} : (tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>, tensor<1x1x16x16xi1>) -> (tensor<2x4x16x16xf16>, tensor<2x4x16x1xf32>, tensor<2x4x16x1xf32>)
  return %y : tensor<2x4x16x16xf16>
}

// The gradient computes the scores from a barrier of q, so that they are not those of the forward pass.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[Q:.*]] = graph.barrier %arg0 after(%arg3 : tensor<2x4x8x16xf16>) {number = 0 : i64}
// CHECK: graph.matmul %{{.*}}, %arg1 {transpose_b}
// CHECK: %[[P:.*]] = graph.cast %{{.*}} : tensor<2x4x8x8xf32> to tensor<2x4x8x8xf16>
// CHECK: graph.matmul %[[P]], %{{.*}} {transpose_a}
// CHECK: graph.sub %{{.*}}, %arg6
// BLOCKS-LABEL: func.func @gradient
// BLOCKS-NOT: graph.barrier
// BLOCKS: graph.scan 4 over
func.func @gradient(%q: tensor<2x4x8x16xf16>, %k: tensor<2x4x8x16xf16>, %v: tensor<2x4x8x16xf16>, %dy: tensor<2x4x8x16xf16>, %largest: tensor<2x4x8x1xf32>, %sum: tensor<2x4x8x1xf32>, %delta: tensor<2x4x8x1xf32>)
    -> (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>) {
  %dq, %dk, %dv = graph.attention_grad %q, %k, %v from %largest, %sum, %delta, %dy {scale = 0.25 : f64} : (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>, tensor<2x4x8x1xf32>, tensor<2x4x8x16xf16>) -> (tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>)
  return %dq, %dk, %dv : tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf16>
}

// A row of numbers along a dimension of extent 1 is 0: every query sees the first key alone.
// BLOCKS-LABEL: func.func @first_key
// BLOCKS: graph.matmul %{{.*}} {transpose_b} : (tensor<2x1x2x16xf16>, tensor<2x1x1x16xf16>) -> tensor<2x1x2x1xf16>
func.func @first_key(%q: tensor<2x4x16x16xf16>, %k: tensor<2x4x16x16xf16>, %v: tensor<2x4x16x16xf16>) -> tensor<2x4x16x16xf16> {
  %row = graph.iota {axis = 0 : i64} : tensor<1x16xi64>
  %column = graph.iota {axis = 1 : i64} : tensor<16x16xi64>
  %sees = graph.compare le %column, %row : (tensor<16x16xi64>, tensor<1x16xi64>) -> tensor<16x16xi1>
  %mask = graph.reshape %sees : tensor<16x16xi1> to tensor<1x1x16x16xi1>
  %y, %largest, %sum = graph.attention %q, %k, %v mask %mask {scale = 0.25 : f64} : (tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>, tensor<2x4x16x16xf16>, tensor<1x1x16x16xi1>) -> (tensor<2x4x16x16xf16>, tensor<2x4x16x1xf32>, tensor<2x4x16x1xf32>)
  return %y : tensor<2x4x16x16xf16>
}
