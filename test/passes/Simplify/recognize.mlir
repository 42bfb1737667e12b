// RUN: mpc-opt %s --mpc-recognize --split-input-file | FileCheck %s

// This is a layer norm: x - mean(x) is squared as a product and divided by a root, and then come a scale and a bias.
// CHECK-LABEL: @layer
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[S:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]], %{{.*}}, %{{.*}} = graph.layer_norm %[[X]], %[[S]], %[[B]] {axes = array<i64: 1>, epsilon = 9.99{{.*}}E-6 : f64, kind = #graph<norm layer>}
// CHECK-NEXT: return %[[Y]]
func.func @layer(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %eps = graph.constant dense<1.0e-05> : tensor<f32>
  %mean = graph.reduce_mean %x {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %d = graph.sub %x, %mean : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %sq = graph.mul %d, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %var = graph.reduce_mean %sq {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %e = graph.add %var, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %r = graph.sqrt %e : tensor<4x1xf32>
  %n = graph.div %d, %r : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %y = graph.mul %n, %s : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %z = graph.add %y, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----
// T5 and Llama take the power of x itself, its sum over 8, and the reciprocal of a root. The weight is the first factor.
// CHECK-LABEL: @rms
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = graph.layer_norm %arg0, %arg1, %{{.*}} {{.*}}kind = #graph<norm rms>
// CHECK-NEXT: return %[[Y]]
func.func @rms(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %eps = graph.constant dense<1.0e-06> : tensor<1xf32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %eighth = graph.constant dense<0.125> : tensor<f32>
  %sq = graph.pow %x, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %sum = graph.reduce_sum %sq {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %var = graph.mul %sum, %eighth : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %e = graph.add %eps, %var : (tensor<1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %r = graph.sqrt %e : tensor<4x1xf32>
  %i = graph.reciprocal %r : tensor<4x1xf32>
  %n = graph.mul %x, %i : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %y = graph.mul %s, %n : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----
// In torch.nn.functional.normalize the bound is a clip, expanded to x's shape.
// CHECK-LABEL: @l2
// CHECK: graph.layer_norm %arg0, {{.*}}epsilon = 9.99{{.*}}E-13 : f64, kind = #graph<norm l2>
// CHECK-NOT: graph.div
func.func @l2(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %norm = graph.reduce_l2 %x {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %bounded = graph.clip %norm {min = 9.99999996E-13 : f64, max = 0x7FF0000000000000 : f64} : tensor<4x1xf32>
  %full = graph.broadcast %bounded : tensor<4x1xf32> to tensor<4x8xf32>
  %y = graph.div %x, %full : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----
// Exporters write a group norm as an instance norm of the groups between two reshapes, followed by weight and bias per channel.
// CHECK-LABEL: @group
// CHECK-DAG: %[[S:.*]] = graph.reshape %arg1 : tensor<6x1x1xf32> to tensor<6xf32>
// CHECK-DAG: %[[B:.*]] = graph.reshape %arg2 : tensor<6x1x1xf32> to tensor<6xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = graph.group_norm %arg0, %[[S]], %[[B]] {axis = 1 : i64, {{.*}}groups = 2 : i64}
// CHECK-NEXT: return %[[Y]]
func.func @group(%x: tensor<2x6x4x4xf32>, %s: tensor<6x1x1xf32>, %b: tensor<6x1x1xf32>) -> tensor<2x6x4x4xf32> {
  %ones = graph.constant dense<1.0> : tensor<2xf32>
  %zeros = graph.constant dense<0.0> : tensor<2xf32>
  %g = graph.reshape %x : tensor<2x6x4x4xf32> to tensor<2x2x48xf32>
  %n:3 = graph.group_norm %g, %ones, %zeros {epsilon = 1.0e-05 : f64, axis = 1 : i64, groups = 2 : i64} : (tensor<2x2x48xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2x48xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
  %h = graph.reshape %n#0 : tensor<2x2x48xf32> to tensor<2x6x4x4xf32>
  %y = graph.mul %h, %s : (tensor<2x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<2x6x4x4xf32>
  %z = graph.add %y, %b : (tensor<2x6x4x4xf32>, tensor<6x1x1xf32>) -> tensor<2x6x4x4xf32>
  return %z : tensor<2x6x4x4xf32>
}

// -----
// These are no norms: the two means have different axes, the deviation is of other values, or epsilon is negative or outside the root.
// CHECK-LABEL: @others
// CHECK-NOT: _norm
// CHECK: return
func.func @others(%x: tensor<8x8xf32>, %other: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %eps = graph.constant dense<1.0e-05> : tensor<f32>
  %minus = graph.constant dense<-1.0e-05> : tensor<f32>
  %sq = graph.mul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %var = graph.reduce_mean %sq {axes = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %e = graph.add %var, %eps : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  %r = graph.sqrt %e : tensor<8x1xf32>
  %a = graph.div %other, %r : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %e2 = graph.add %var, %minus : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  %r2 = graph.rsqrt %e2 : tensor<8x1xf32>
  %b = graph.mul %x, %r2 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %r3 = graph.sqrt %var : tensor<8x1xf32>
  %e3 = graph.add %r3, %eps : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  %c = graph.div %x, %e3 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  return %a, %b, %c : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----
// NaN is no epsilon, which the verifier of a norm would refuse.
// CHECK-LABEL: @nan
// CHECK-NOT: _norm
// CHECK: return
func.func @nan(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %nan = graph.constant dense<0x7FC00000> : tensor<f32>
  %sq = graph.mul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %var = graph.reduce_mean %sq {axes = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %e = graph.add %var, %nan : (tensor<8x1xf32>, tensor<f32>) -> tensor<8x1xf32>
  %r = graph.sqrt %e : tensor<8x1xf32>
  %y = graph.div %x, %r : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----
// These are logarithms of values near 0 or 1.
// CHECK-LABEL: @logs
// CHECK: %[[N:.*]] = graph.neg %arg0
// CHECK: %[[P:.*]] = graph.softplus %[[N]]
// CHECK: graph.neg %[[P]]
// CHECK: %[[Q:.*]] = graph.softplus %arg0
// CHECK: graph.neg %[[Q]]
// CHECK: graph.log_softmax %arg0 {axis = 1 : i64}
// CHECK-NOT: graph.log %
func.func @logs(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %s = graph.sigmoid %x : tensor<2x3xf32>
  %a = graph.log %s : tensor<2x3xf32>
  %m = graph.sub %one, %s : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = graph.log %m : tensor<2x3xf32>
  %p = graph.softmax %x {axis = 1 : i64} : tensor<2x3xf32>
  %c = graph.log %p : tensor<2x3xf32>
  return %a, %b, %c : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----
// A square becomes a power, which autocast computes in fp32. A divisor of n - 1 makes no mean, however large n is.
// CHECK-LABEL: @squares
// CHECK: graph.pow
// CHECK-NOT: _norm
// CHECK: return
func.func @squares(%x: tensor<2000000xf64>) -> tensor<2000000xf64> {
  %n = graph.constant dense<1999999.0> : tensor<f64>
  %eps = graph.constant dense<1.0e-05> : tensor<f64>
  %sq = graph.mul %x, %x : (tensor<2000000xf64>, tensor<2000000xf64>) -> tensor<2000000xf64>
  %sum = graph.reduce_sum %sq {axes = array<i64: 0>, keepdims = true} : (tensor<2000000xf64>) -> tensor<1xf64>
  %var = graph.div %sum, %n : (tensor<1xf64>, tensor<f64>) -> tensor<1xf64>
  %e = graph.add %var, %eps : (tensor<1xf64>, tensor<f64>) -> tensor<1xf64>
  %r = graph.sqrt %e : tensor<1xf64>
  %y = graph.div %x, %r : (tensor<2000000xf64>, tensor<1xf64>) -> tensor<2000000xf64>
  return %y : tensor<2000000xf64>
}

// -----
// GPT-2's GELU with its cube as a power, and torch's with products in another order.
// CHECK-LABEL: @gelu_of_tanh
// CHECK: %[[Y:.*]] = graph.gelu %arg0 {approximate}
// CHECK: %[[Z:.*]] = graph.gelu %arg0 {approximate}
// CHECK: return %[[Y]], %[[Z]]
func.func @gelu_of_tanh(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %three = graph.constant dense<3.0> : tensor<f32>
  %share = graph.constant dense<0.044715> : tensor<f32>
  %root = graph.constant dense<0.79788456> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %cube = graph.pow %x, %three : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %term = graph.mul %cube, %share : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %sum = graph.add %x, %term : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %inner = graph.mul %root, %sum : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %bent = graph.tanh %inner : tensor<4x8xf32>
  %gate = graph.add %bent, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %halved = graph.mul %x, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %y = graph.mul %halved, %gate : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %square = graph.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %cube2 = graph.mul %square, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %term2 = graph.mul %cube2, %share : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %sum2 = graph.add %x, %term2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %inner2 = graph.mul %sum2, %root : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %bent2 = graph.tanh %inner2 : tensor<4x8xf32>
  %gate2 = graph.add %one, %bent2 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %product = graph.mul %gate2, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = graph.mul %product, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----
// CHECK-LABEL: @gelu_of_erf
// CHECK: %[[Y:.*]] = graph.gelu %arg0 : tensor<4x8xf32>
// CHECK: return %[[Y]]
func.func @gelu_of_erf(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %root = graph.constant dense<1.41421354> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %d = graph.div %x, %root : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %e = graph.erf %d : tensor<4x8xf32>
  %gate = graph.add %e, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %share = graph.mul %half, %gate : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = graph.mul %x, %share : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----
// SiLU, and CLIP's QuickGELU.
// CHECK-LABEL: @swish
// CHECK: %[[Y:.*]] = graph.swish %arg0 {alpha = 1.000000e+00 : f64}
// CHECK: %[[Z:.*]] = graph.swish %[[Y]] {alpha = 1.702{{[0-9e+]*}} : f64}
// CHECK: return %[[Z]]
func.func @swish(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %factor = graph.constant dense<1.702> : tensor<f32>
  %s = graph.sigmoid %x : tensor<4x8xf32>
  %y = graph.mul %x, %s : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = graph.mul %factor, %y : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = graph.sigmoid %m : tensor<4x8xf32>
  %z = graph.mul %t, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----
// A sigmoid of another value, one that is read twice, and one that broadcasts.
// CHECK-LABEL: @almost_swish
// CHECK-NOT: graph.swish
func.func @almost_swish(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>, %w: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = graph.sigmoid %z : tensor<4x8xf32>
  %b = graph.mul %x, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = graph.sigmoid %x : tensor<4x8xf32>
  %c = graph.mul %x, %s : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = graph.mul %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %g = graph.sigmoid %m : tensor<4x8xf32>
  %d = graph.mul %x, %g : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %b, %s, %c, %d : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----
// Another number, a gate of another value, and a quarter in place of a half.
// CHECK-LABEL: @almost_gelu
// CHECK-NOT: graph.gelu
func.func @almost_gelu(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %root = graph.constant dense<1.5> : tensor<f32>
  %two = graph.constant dense<1.41421354> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %d = graph.div %x, %root : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %e = graph.erf %d : tensor<4x8xf32>
  %gate = graph.add %e, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %share = graph.mul %half, %gate : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = graph.mul %x, %share : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d2 = graph.div %x, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %e2 = graph.erf %d2 : tensor<4x8xf32>
  %gate2 = graph.add %e2, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %share2 = graph.mul %half, %gate2 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y2 = graph.mul %z, %share2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %quarter = graph.constant dense<0.25> : tensor<f32>
  %e3 = graph.erf %d2 : tensor<4x8xf32>
  %gate3 = graph.add %e3, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %share3 = graph.mul %quarter, %gate3 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y3 = graph.mul %x, %share3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y, %y2, %y3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
