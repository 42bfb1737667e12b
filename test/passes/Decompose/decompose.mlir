// RUN: mpc-opt %s --mpc-decompose | FileCheck %s
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-decompose | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: func.func @softmax
// CHECK: %[[X:.*]] = graph.cast %arg0 : tensor<8x10xf16> to tensor<8x10xf32>
// CHECK: %[[M:.*]] = graph.reduce_max %[[X]] {axes = array<i64: 1>, keepdims = true}
// CHECK: %[[D:.*]] = graph.sub %[[X]], %[[M]]
// CHECK: %[[E:.*]] = graph.exp %[[D]]
// CHECK: %[[S:.*]] = graph.reduce_sum %[[E]] {axes = array<i64: 1>, keepdims = true}
// CHECK: %[[ONE:.*]] = graph.div %{{.*}}, %[[S]] : (tensor<f32>, tensor<8x1xf32>)
// CHECK: %[[Y:.*]] = graph.mul %[[E]], %[[ONE]]
// CHECK: graph.cast %[[Y]] : tensor<8x10xf32> to tensor<8x10xf16>
func.func @softmax(%x: tensor<8x10xf16>) -> tensor<8x10xf16> {
  %y = graph.softmax %x {axis = 1 : i64} : tensor<8x10xf16>
  return %y : tensor<8x10xf16>
}

// Statistics take one pass and are computed in fp32: sums of the deviations from the median of three elements, and of
// their squares.
// CHECK-LABEL: func.func @batch_norm
// CHECK-DAG: %[[X:.*]] = graph.cast %arg0 : tensor<2x3x4x4xf16> to tensor<2x3x4x4xf32>
// CHECK-DAG: graph.slice %arg0 {sizes = array<i64: 1, 3, 1, 1>, starts = array<i64: 0, 0, 1, 1>
// CHECK-DAG: graph.slice %arg0 {sizes = array<i64: 1, 3, 1, 1>, starts = array<i64: 1, 0, 2, 2>
// CHECK-DAG: graph.slice %arg0 {sizes = array<i64: 1, 3, 1, 1>, starts = array<i64: 1, 0, 3, 3>
// CHECK: %[[D:.*]] = graph.sub %[[X]], {{.*}} : (tensor<2x3x4x4xf32>, tensor<1x3x1x1xf32>)
// CHECK: graph.reduce_sum %[[D]] {axes = array<i64: 0, 2, 3>, keepdims = true}
// CHECK: %[[Q:.*]] = graph.mul %[[D]], %[[D]]
// CHECK: graph.reduce_sum %[[Q]] {axes = array<i64: 0, 2, 3>, keepdims = true}
// CHECK-NOT: graph.reduce_sum
// CHECK: graph.rsqrt {{.*}} : tensor<1x3x1x1xf32>
// CHECK-NOT: graph.batch_norm
func.func @batch_norm(%x: tensor<2x3x4x4xf16>, %s: tensor<3xf32>) -> tensor<2x3x4x4xf16> {
  %y, %m, %v = graph.batch_norm %x, %s, %s {epsilon = 1.0e-5 : f64, axis = 1 : i64} : (tensor<2x3x4x4xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x4xf16>, tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<2x3x4x4xf16>
}

// In bf16 the sums of a GPU are of the elements themselves, so that they can be computed where these are.
// GPU-LABEL: func.func @batch_norm_bf16
// GPU-NOT: graph.slice
// GPU: %[[X:.*]] = graph.cast %arg0 : tensor<2x3x4x4xbf16> to tensor<2x3x4x4xf32>
// GPU: graph.reduce_sum %[[X]] {axes = array<i64: 0, 2, 3>, keepdims = true}
// GPU: %[[Q:.*]] = graph.mul %[[X]], %[[X]]
// GPU: graph.reduce_sum %[[Q]] {axes = array<i64: 0, 2, 3>, keepdims = true}
// GPU-NOT: graph.reduce_sum
// GPU-NOT: graph.batch_norm
func.func @batch_norm_bf16(%x: tensor<2x3x4x4xbf16>, %s: tensor<3xf32>) -> tensor<2x3x4x4xbf16> {
  %y, %m, %v = graph.batch_norm %x, %s, %s {epsilon = 1.0e-5 : f64, axis = 1 : i64} : (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x4xbf16>, tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<2x3x4x4xbf16>
}

// CHECK-LABEL: func.func @scatter
// CHECK: graph.scatter {{.*}} -> tensor<9x4xf32>
// CHECK: graph.cast {{.*}} : tensor<9x4xf32> to tensor<9x4xf16>
func.func @scatter(%dy: tensor<5x4xf16>, %i: tensor<5xi64>) -> tensor<9x4xf16> {
  %dx = graph.scatter %dy, %i {axis = 0 : i64} : (tensor<5x4xf16>, tensor<5xi64>) -> tensor<9x4xf16>
  return %dx : tensor<9x4xf16>
}

// Primitive ops stay.
// CHECK-LABEL: func.func @untouched
// CHECK-NEXT: graph.gelu
// CHECK-NEXT: graph.matmul
func.func @untouched(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.gelu %x : tensor<4x4xf32>
  %1 = graph.matmul %0, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// One matrix for all batches stays as it is; a matrix that is repeated for a part of the batches is written out.
// CHECK-LABEL: func.func @matmul
// CHECK: %[[W:.*]] = graph.broadcast %arg1 : tensor<3x5x6xf32> to tensor<2x3x5x6xf32>
// CHECK: graph.matmul %arg0, %[[W]] : (tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32>)
// CHECK: graph.matmul %arg0, %arg2 : (tensor<2x3x4x5xf32>, tensor<5x6xf32>)
func.func @matmul(%x: tensor<2x3x4x5xf32>, %w: tensor<3x5x6xf32>, %v: tensor<5x6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>) {
  %y = graph.matmul %x, %w : (tensor<2x3x4x5xf32>, tensor<3x5x6xf32>) -> tensor<2x3x4x6xf32>
  %z = graph.matmul %x, %v : (tensor<2x3x4x5xf32>, tensor<5x6xf32>) -> tensor<2x3x4x6xf32>
  return %y, %z : tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>
}

// A mask of samples is drawn once for each sample and multiplied in fp32.
// CHECK-LABEL: func.func @drop_samples
// CHECK: %[[ONES:.*]] = graph.constant dense<1.000000e+00> : tensor<8x1x1xf32>
// CHECK-DAG: %[[X:.*]] = graph.cast %arg0
// CHECK-DAG: %[[M:.*]] = graph.dropout %[[ONES]], %arg1, %arg1 {ratio = 5.000000e-01 : f64, salt = 3 : i64}
// CHECK: %[[Y:.*]] = graph.mul %[[X]], %[[M]]
// CHECK: graph.cast %[[Y]] : tensor<8x4x5xf32> to tensor<8x4x5xf16>
func.func @drop_samples(%x: tensor<8x4x5xf16>, %s: tensor<i64>) -> tensor<8x4x5xf16> {
  %y = graph.dropout %x, %s, %s {ratio = 0.5 : f64, salt = 3 : i64, shared = array<i64: 1, 2>} : (tensor<8x4x5xf16>, tensor<i64>, tensor<i64>) -> tensor<8x4x5xf16>
  return %y : tensor<8x4x5xf16>
}

// CHECK-LABEL: func.func @powers
// CHECK: %[[X:.*]] = graph.broadcast %arg0
// CHECK: %[[S:.*]] = graph.mul %[[X]], %[[X]]
// CHECK: %[[C:.*]] = graph.mul %[[S]], %[[X]]
// CHECK: %[[W:.*]] = graph.cast %arg1 : tensor<4xf16> to tensor<4xf32>
// CHECK: %[[Q:.*]] = graph.mul %[[W]], %[[W]]
// CHECK: %[[F:.*]] = graph.mul %[[Q]], %[[Q]]
// CHECK: %[[N:.*]] = graph.cast %[[F]] : tensor<4xf32> to tensor<4xf16>
// CHECK: %[[R:.*]] = graph.pow %arg0
// CHECK: return %[[C]], %[[N]], %[[R]]
func.func @powers(%x: tensor<1xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>, tensor<1xf32>) {
  %three = graph.constant dense<3.0> : tensor<4xf32>
  %four = graph.constant dense<4.0> : tensor<4xf16>
  %other = graph.constant dense<2.5> : tensor<1xf32>
  %c = graph.pow %x, %three : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %f = graph.pow %h, %four : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %r = graph.pow %x, %other : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %c, %f, %r : tensor<4xf32>, tensor<4xf16>, tensor<1xf32>
}
