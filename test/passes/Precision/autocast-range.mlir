// RUN: mpc-opt %s --mpc-autocast="type=fp16 opt-level=O2" | FileCheck %s
// RUN: mpc-opt %s --mpc-autocast="type=bf16 opt-level=O2" | FileCheck %s --check-prefix=BF16

// Values that may leave the range of f16 are stored in f32 in a cast model too. A softmax's results cannot leave it.
// CHECK-LABEL: @ranges
// CHECK: graph.pow {{.*}} -> tensor<4x4xf32>
// CHECK: graph.exp {{.*}} : tensor<4x4xf32>
// CHECK: graph.reduce_l2 {{.*}} -> tensor<4x1xf32>
// CHECK: graph.softmax {{.*}} : tensor<4x4xf16>
// CHECK: graph.prelu {{.*}} -> tensor<4x4xf16>
func.func @ranges(%x: tensor<4x4xf32>, %s: tensor<4xf32>) -> tensor<4x4xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.pow %0, %two : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = graph.exp %0 : tensor<4x4xf32>
  %3 = graph.reduce_l2 %0 {axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %4 = graph.softmax %0 {axis = 1 : i64} : tensor<4x4xf32>
  %5 = graph.prelu %4, %s : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %6 = graph.add %1, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = graph.add %6, %3 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %8 = graph.add %7, %5 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = graph.matmul %8, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %9 : tensor<4x4xf32>
}

// A constant number widens an addition where f16 makes it infinite, zero or a subnormal of fewer digits; bf16 holds all such numbers. A
// constant tensor is judged by its largest number.
// CHECK-LABEL: @numbers
// CHECK: graph.add {{.*}} -> tensor<2x2xf32>
// CHECK: graph.add {{.*}} -> tensor<2x2xf32>
// CHECK: graph.add {{.*}} -> tensor<2x2xf16>
// CHECK: graph.add {{.*}} -> tensor<2x2xf16>
// CHECK: graph.add {{.*}} -> tensor<2x2xf16>
// BF16-LABEL: @numbers
// BF16-COUNT-5: graph.add {{.*}} -> tensor<2x2xbf16>
func.func @numbers(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %large = graph.constant dense<1.0e+05> : tensor<f32>
  %tiny = graph.constant dense<1.0e-08> : tensor<f32>
  %third = graph.constant dense<0.3> : tensor<f32>
  %table = graph.constant dense<[1.0e-08, 0.5]> : tensor<2xf32>
  %infinity = graph.constant dense<0x7F800000> : tensor<f32>
  %0 = graph.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.add %0, %large : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %2 = graph.add %0, %tiny : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %3 = graph.add %0, %third : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %4 = graph.add %0, %table : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %5 = graph.add %0, %infinity : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %1, %2, %3, %4, %5 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
