// RUN: mpc-opt %s --mpc-form-dispatches --mpc-find-reuse --mpc-plan-arena --mpc-verify-arena --split-input-file | FileCheck %s

// The ranks' sum takes the place of the gradient, which lives until the last launch that reads the sum.
// CHECK-LABEL: func.func @own
// CHECK: kernel.dispatch "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[G:[0-9]+]]>
// CHECK: train.all_reduce %{{.*}} {kernel.offset = [[G]] : i64} : tensor<64xf32>
// CHECK: kernel.dispatch "tanh"{{.*}}args = array<i64: [[G]], {{[0-9]+}}>
func.func @own(%x: tensor<64xf32>) -> tensor<64xf32> {
  %g = graph.exp %x : tensor<64xf32>
  %r = train.all_reduce %g : tensor<64xf32>
  %y = graph.tanh %r : tensor<64xf32>
  return %y : tensor<64xf32>
}

// -----
// The rank's own gradient is needed after the sum, so the sum gets a copy. An argument is no place for it either.
// CHECK-LABEL: func.func @copies
// CHECK: kernel.dispatch "all_reduce"{{.*}}args = array<i64: {{[0-9]+}}, [[A:[0-9]+]]>
// CHECK: train.all_reduce %{{.*}} {kernel.offset = [[A]] : i64}
// CHECK: kernel.dispatch "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[G:[0-9]+]]>
// CHECK: kernel.dispatch "all_reduce"{{.*}}args = array<i64: [[G]], [[S:[0-9]+]]>
// CHECK: train.all_reduce %{{.*}} {kernel.offset = [[S]] : i64}
// CHECK: kernel.dispatch "tanh+sub"(%{{.*}}, %{{.*}}) {args = array<i64: [[S]], [[G]],
func.func @copies(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %g = graph.exp %x : tensor<64xf32>
  %r = train.all_reduce %g : tensor<64xf32>
  %t = graph.tanh %r : tensor<64xf32>
  %y = graph.sub %g, %t : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %a = train.all_reduce %x : tensor<64xf32>
  %z = graph.exp %a : tensor<64xf32>
  return %y, %z : tensor<64xf32>, tensor<64xf32>
}
