// RUN: mpc-opt %s --mpc-recognize --canonicalize --split-input-file | FileCheck %s

// A model's own attention: keys are transposed by the product, and scores are divided and hidden by a mask.
// CHECK-LABEL: @own
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = graph.attention %arg0, %arg1, %arg2 mask %arg3 {scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @own(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<1x1x8x8xi1>) -> tensor<2x4x8x16xf32> {
  %four = graph.constant dense<4.0> : tensor<f32>
  %low = graph.constant dense<0xFF800000> : tensor<f32>
  %s = graph.matmul %q, %k {transpose_b} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %d = graph.div %s, %four : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %z = graph.select %m, %d, %low : (tensor<1x1x8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %p = graph.softmax %z {axis = 3 : i64} : tensor<2x4x8x8xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// -----
// torch's scaled_dot_product_attention: keys come transposed, and a bias is added; its dropout stays the same function.
// CHECK-LABEL: @torch
// CHECK-DAG: %[[K:.*]] = graph.transpose %arg1 {permutation = array<i64: 0, 1, 3, 2>}
// CHECK: graph.attention %arg0, %[[K]], %arg2 bias %{{.*}} dropout %arg3, %arg3 {ratio = 1.000000e-01 : f64, salt = 3 : i64, scale = 1.000000e+00 : f64}
func.func @torch(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x8x16xf32>, %i: tensor<i64>) -> tensor<2x4x8x16xf32> {
  %b = graph.constant dense<-2.0> : tensor<8x8xf32>
  %s = graph.matmul %q, %k : (tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x8x8xf32>
  %z = graph.add %s, %b : (tensor<2x4x8x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = graph.softmax %z {axis = 3 : i64} : tensor<2x4x8x8xf32>
  %d = graph.dropout %p, %i, %i {ratio = 0.1 : f64, salt = 3 : i64} : (tensor<2x4x8x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4x8x8xf32>
  %y = graph.matmul %d, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// -----
// torch's multi-head attention has samples and heads in one dimension. Two masks hide keys, one of them where it is true.
// CHECK-LABEL: @three_dimensions
// CHECK-DAG: %[[Q:.*]] = graph.reshape %arg0 : tensor<6x8x16xf32> to tensor<1x6x8x16xf32>
// CHECK-DAG: %[[NOT:.*]] = graph.not %arg4
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = graph.attention %[[Q]], {{.*}} mask %{{.*}} {scale = 1.000000e+00 : f64} : (tensor<1x6x8x16xf32>, tensor<1x6x8x16xf32>, tensor<1x6x8x16xf32>, tensor<1x6x8x8xi1>)
// CHECK: graph.reshape %[[Y]] : tensor<1x6x8x16xf32> to tensor<6x8x16xf32>
func.func @three_dimensions(%q: tensor<6x8x16xf32>, %k: tensor<6x8x16xf32>, %v: tensor<6x8x16xf32>, %m: tensor<6x8x8xi1>, %n: tensor<8x8xi1>) -> tensor<6x8x16xf32> {
  %low = graph.constant dense<0xFF800000> : tensor<f32>
  %s = graph.matmul %q, %k {transpose_b} : (tensor<6x8x16xf32>, tensor<6x8x16xf32>) -> tensor<6x8x8xf32>
  %a = graph.select %m, %s, %low : (tensor<6x8x8xi1>, tensor<6x8x8xf32>, tensor<f32>) -> tensor<6x8x8xf32>
  %z = graph.select %n, %low, %a : (tensor<8x8xi1>, tensor<f32>, tensor<6x8x8xf32>) -> tensor<6x8x8xf32>
  %p = graph.softmax %z {axis = 2 : i64} : tensor<6x8x8xf32>
  %y = graph.matmul %p, %v : (tensor<6x8x8xf32>, tensor<6x8x16xf32>) -> tensor<6x8x16xf32>
  return %y : tensor<6x8x16xf32>
}

// -----
// The scores are capped, so this is no attention of one form.
// CHECK-LABEL: @capped
// CHECK-NOT: graph.attention
func.func @capped(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %s = graph.matmul %q, %k {transpose_b} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %z = graph.tanh %s : tensor<4x8x8xf32>
  %p = graph.softmax %z {axis = 2 : i64} : tensor<4x8x8xf32>
  %y = graph.matmul %p, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// -----
// The network returns what its queries look at.
// CHECK-LABEL: @read_elsewhere
// CHECK-NOT: graph.attention
func.func @read_elsewhere(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x8xf32>) {
  %s = graph.matmul %q, %k {transpose_b} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %p = graph.softmax %s {axis = 2 : i64} : tensor<4x8x8xf32>
  %y = graph.matmul %p, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %y, %p : tensor<4x8x16xf32>, tensor<4x8x8xf32>
}

// -----
// The fill is scaled, and a finite fill would have the bias added.
// CHECK-LABEL: @other_orders
// CHECK-NOT: graph.attention
func.func @other_orders(%q: tensor<4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x8x16xf32>, %m: tensor<8x8xi1>, %b: tensor<8x8xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>) {
  %low = graph.constant dense<-9.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %s = graph.matmul %q, %k {transpose_b} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %a = graph.select %m, %s, %low : (tensor<8x8xi1>, tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8x8xf32>
  %z = graph.mul %a, %half : (tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8x8xf32>
  %p = graph.softmax %z {axis = 2 : i64} : tensor<4x8x8xf32>
  %y = graph.matmul %p, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %s2 = graph.matmul %v, %k {transpose_b} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
  %a2 = graph.select %m, %s2, %low : (tensor<8x8xi1>, tensor<4x8x8xf32>, tensor<f32>) -> tensor<4x8x8xf32>
  %z2 = graph.add %a2, %b : (tensor<4x8x8xf32>, tensor<8x8xf32>) -> tensor<4x8x8xf32>
  %p2 = graph.softmax %z2 {axis = 2 : i64} : tensor<4x8x8xf32>
  %y2 = graph.matmul %p2, %v : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %y, %y2 : tensor<4x8x16xf32>, tensor<4x8x16xf32>
}

// -----
// torch's scaled_dot_product_attention with a mask: it is a bias that hides, and NaN becomes 0 where a query sees no key.
// CHECK-LABEL: @safe
// CHECK: graph.attention %arg0, %arg1, %arg2 mask %arg3 {scale = 1.000000e+00 : f64, zero_rows}
func.func @safe(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x1x8x8xi1>) -> tensor<2x4x8x16xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %low = graph.constant dense<0xFF800000> : tensor<f32>
  %b = graph.select %m, %zero, %low : (tensor<2x1x8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x8x8xf32>
  %s = graph.matmul %q, %k {transpose_b} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %z = graph.add %s, %b : (tensor<2x4x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = graph.softmax %z {axis = 3 : i64} : tensor<2x4x8x8xf32>
  %n = graph.is_nan %p : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xi1>
  %g = graph.select %n, %zero, %p : (tensor<2x4x8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %y = graph.matmul %g, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// -----
// A finite number is a bias, also where NaN becomes 0.
// CHECK-LABEL: @not_hidden
// CHECK: graph.attention %arg0, %arg1, %arg2 bias %{{.*}} {scale = 1.000000e+00 : f64, zero_rows}
func.func @not_hidden(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x1x8x8xi1>) -> tensor<2x4x8x16xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %low = graph.constant dense<0xFF7FFFFF> : tensor<f32>
  %b = graph.select %m, %zero, %low : (tensor<2x1x8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x8x8xf32>
  %s = graph.matmul %q, %k {transpose_b} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %z = graph.add %s, %b : (tensor<2x4x8x8xf32>, tensor<2x1x8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = graph.softmax %z {axis = 3 : i64} : tensor<2x4x8x8xf32>
  %n = graph.is_nan %p : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xi1>
  %g = graph.select %n, %zero, %p : (tensor<2x4x8x8xi1>, tensor<f32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %y = graph.matmul %g, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// -----
// Here the bias hides what is true, with the lowest number. It may hide all keys of a query, which then has their mean.
// CHECK-LABEL: @hidden_by_a_number
// CHECK: graph.attention %arg0, %arg1, %arg2 bias %{{.*}} {scale = 1.000000e+00 : f64}
func.func @hidden_by_a_number(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<8x8xi1>) -> tensor<2x4x8x16xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %low = graph.constant dense<-3.4028235e+38> : tensor<f32>
  %b = graph.select %m, %low, %zero : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  %s = graph.matmul %q, %k {transpose_b} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %z = graph.add %s, %b : (tensor<2x4x8x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = graph.softmax %z {axis = 3 : i64} : tensor<2x4x8x8xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// -----
// A finite fill to which a bias is added is another number.
// CHECK-LABEL: @hidden_twice
// CHECK-NOT: graph.attention
func.func @hidden_twice(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<8x8xi1>, %n: tensor<8x8xi1>) -> tensor<2x4x8x16xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %low = graph.constant dense<-3.4028235e+38> : tensor<f32>
  %b = graph.select %m, %low, %zero : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  %s = graph.matmul %q, %k {transpose_b} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %h = graph.select %n, %s, %low : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %z = graph.add %h, %b : (tensor<2x4x8x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = graph.softmax %z {axis = 3 : i64} : tensor<2x4x8x8xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// -----
// The same where every query sees a key, as constants say.
// CHECK-LABEL: @causal_by_a_number
// CHECK: graph.attention %arg0, %arg1, %arg2 bias %{{.*}} {scale = 1.000000e+00 : f64}
func.func @causal_by_a_number(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %low = graph.constant dense<-3.4028235e+38> : tensor<f32>
  %row = graph.iota {axis = 0 : i64} : tensor<8x8xi64>
  %column = graph.iota {axis = 1 : i64} : tensor<8x8xi64>
  %m = graph.compare gt %column, %row : (tensor<8x8xi64>, tensor<8x8xi64>) -> tensor<8x8xi1>
  %b = graph.select %m, %low, %zero : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  %s = graph.matmul %q, %k {transpose_b} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  %z = graph.add %s, %b : (tensor<2x4x8x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8x8xf32>
  %p = graph.softmax %z {axis = 3 : i64} : tensor<2x4x8x8xf32>
  %y = graph.matmul %p, %v : (tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// -----
// Keys and values that are repeated for neighbouring heads of queries are not, and queries and keys that are scaled become a part of the scale.
// CHECK-LABEL: @grouped
// CHECK: graph.attention %arg0, %arg1, %arg2 {scale = 2.500000e-01 : f64} : (tensor<2x6x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>)
func.func @grouped(%q: tensor<2x6x8x16xf32>, %k: tensor<2x2x8x16xf32>, %v: tensor<2x2x8x16xf32>) -> tensor<2x6x8x16xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %k1 = graph.reshape %k : tensor<2x2x8x16xf32> to tensor<2x2x1x8x16xf32>
  %k2 = graph.broadcast %k1 : tensor<2x2x1x8x16xf32> to tensor<2x2x3x8x16xf32>
  %k3 = graph.reshape %k2 : tensor<2x2x3x8x16xf32> to tensor<12x8x16xf32>
  %k4 = graph.transpose %k3 {permutation = array<i64: 0, 2, 1>} : (tensor<12x8x16xf32>) -> tensor<12x16x8xf32>
  %k5 = graph.reshape %k4 : tensor<12x16x8xf32> to tensor<2x6x16x8xf32>
  %k6 = graph.mul %k5, %half : (tensor<2x6x16x8xf32>, tensor<f32>) -> tensor<2x6x16x8xf32>
  %v1 = graph.reshape %v : tensor<2x2x8x16xf32> to tensor<2x2x1x8x16xf32>
  %v2 = graph.broadcast %v1 : tensor<2x2x1x8x16xf32> to tensor<2x2x3x8x16xf32>
  %v3 = graph.reshape %v2 : tensor<2x2x3x8x16xf32> to tensor<2x6x8x16xf32>
  %q1 = graph.mul %q, %half : (tensor<2x6x8x16xf32>, tensor<f32>) -> tensor<2x6x8x16xf32>
  %s = graph.matmul %q1, %k6 : (tensor<2x6x8x16xf32>, tensor<2x6x16x8xf32>) -> tensor<2x6x8x8xf32>
  %p = graph.softmax %s {axis = 3 : i64} : tensor<2x6x8x8xf32>
  %y = graph.matmul %p, %v3 : (tensor<2x6x8x8xf32>, tensor<2x6x8x16xf32>) -> tensor<2x6x8x16xf32>
  return %y : tensor<2x6x8x16xf32>
}

// -----
// Here the whole group of heads is repeated: head 2 of the queries reads head 0 of the keys.
// CHECK-LABEL: @tiled
// CHECK: graph.attention %arg0, %{{.*}}, %{{.*}} {scale = 1.000000e+00 : f64} : (tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>)
func.func @tiled(%q: tensor<2x6x8x16xf32>, %k: tensor<2x2x8x16xf32>, %v: tensor<2x2x8x16xf32>) -> tensor<2x6x8x16xf32> {
  %k1 = graph.reshape %k : tensor<2x2x8x16xf32> to tensor<2x1x2x8x16xf32>
  %k2 = graph.broadcast %k1 : tensor<2x1x2x8x16xf32> to tensor<2x3x2x8x16xf32>
  %k3 = graph.reshape %k2 : tensor<2x3x2x8x16xf32> to tensor<2x6x8x16xf32>
  %v1 = graph.reshape %v : tensor<2x2x8x16xf32> to tensor<2x1x2x8x16xf32>
  %v2 = graph.broadcast %v1 : tensor<2x1x2x8x16xf32> to tensor<2x3x2x8x16xf32>
  %v3 = graph.reshape %v2 : tensor<2x3x2x8x16xf32> to tensor<2x6x8x16xf32>
  %s = graph.matmul %q, %k3 {transpose_b} : (tensor<2x6x8x16xf32>, tensor<2x6x8x16xf32>) -> tensor<2x6x8x8xf32>
  %p = graph.softmax %s {axis = 3 : i64} : tensor<2x6x8x8xf32>
  %y = graph.matmul %p, %v3 : (tensor<2x6x8x8xf32>, tensor<2x6x8x16xf32>) -> tensor<2x6x8x16xf32>
  return %y : tensor<2x6x8x16xf32>
}
