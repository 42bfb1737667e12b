// RUN: mpc-opt %s --mpc-form-dispatches --mpc-find-reuse --mpc-plan-arena --mpc-verify-arena --split-input-file | FileCheck %s

// The ranks' sum takes the place of the gradient, which lives until the last launch that reads the sum.
// CHECK-LABEL: func.func @own
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[G:[0-9]+]]>
// CHECK: train.all_reduce %{{.*}} {kernel.offset = [[G]] : i64} : tensor<64xf32>
// CHECK: kernel.dispatch pointwise "tanh"{{.*}}args = array<i64: [[G]], {{[0-9]+}}>
func.func @own(%x: tensor<64xf32>) -> tensor<64xf32> {
  %g = graph.exp %x : tensor<64xf32>
  %r = train.all_reduce %g : tensor<64xf32>
  %y = graph.tanh %r : tensor<64xf32>
  return %y : tensor<64xf32>
}

// -----
// The rank's own gradient is needed after the sum, so the sum gets a copy. An argument is no place for it either.
// CHECK-LABEL: func.func @copies
// CHECK: kernel.dispatch pointwise "all_reduce"{{.*}}args = array<i64: {{[0-9]+}}, [[A:[0-9]+]]>
// CHECK: train.all_reduce %{{.*}} {kernel.offset = [[A]] : i64}
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[G:[0-9]+]]>
// CHECK: kernel.dispatch pointwise "all_reduce"{{.*}}args = array<i64: [[G]], [[S:[0-9]+]]>
// CHECK: train.all_reduce %{{.*}} {kernel.offset = [[S]] : i64}
// CHECK: kernel.dispatch pointwise "tanh+sub"(%{{.*}}, %{{.*}}) {args = array<i64: [[S]], [[G]],
func.func @copies(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %g = graph.exp %x : tensor<64xf32>
  %r = train.all_reduce %g : tensor<64xf32>
  %t = graph.tanh %r : tensor<64xf32>
  %y = graph.sub %g, %t : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %a = train.all_reduce %x : tensor<64xf32>
  %z = graph.exp %a : tensor<64xf32>
  return %y, %z : tensor<64xf32>, tensor<64xf32>
}

// -----
// The sum may be what a variable is assigned: the gradient is computed where the variable lies, and the sum takes its place there.
train.variable @g buffer : tensor<64xf32> = #train.fill<0.0 : f64>
// CHECK-LABEL: train.variable @g buffer
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[V:[0-9]+]]>
// CHECK: train.all_reduce %{{.*}} {kernel.offset = [[V]] : i64}
// CHECK-NOT: kernel.dispatch
// CHECK: train.assign @g
func.func @assigned(%x: tensor<64xf32>) {
  %g = graph.exp %x : tensor<64xf32>
  %r = train.all_reduce %g : tensor<64xf32>
  train.assign @g, %r : tensor<64xf32>
  return
}

// -----
// One variable is assigned the rank's own gradient and another one the sum, which gets a copy.
train.variable @own buffer : tensor<64xf32> = #train.fill<0.0 : f64>
train.variable @sum buffer : tensor<64xf32> = #train.fill<0.0 : f64>
// CHECK-LABEL: train.variable @own buffer
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[G:[0-9]+]]>
// CHECK: kernel.dispatch pointwise "all_reduce"{{.*}}args = array<i64: [[G]], [[S:[0-9]+]]>
// CHECK: train.all_reduce %{{.*}} {kernel.offset = [[S]] : i64}
func.func @both(%x: tensor<64xf32>) {
  %g = graph.exp %x : tensor<64xf32>
  %r = train.all_reduce %g : tensor<64xf32>
  train.assign @own, %g : tensor<64xf32>
  train.assign @sum, %r : tensor<64xf32>
  return
}
