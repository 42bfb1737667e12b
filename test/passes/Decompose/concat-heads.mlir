// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-decompose | FileCheck %s
// RUN: mpc-opt %s --mpc-decompose | FileCheck %s --check-prefix=HOST

// On a GPU the heads of an attention's cotangents are concatenated before they become rows, so that its kernels write them side by side.
// CHECK-LABEL: @rows
// CHECK: %[[W:.*]] = graph.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 2 : i64} : (tensor<2x8x6x16xf16>, tensor<2x8x2x16xf16>, tensor<2x8x2x16xf16>) -> tensor<2x8x10x16xf16>
// CHECK: graph.reshape %[[W]] : tensor<2x8x10x16xf16> to tensor<2x8x160xf16>
// HOST-LABEL: @rows
// HOST: graph.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 2 : i64} : (tensor<2x8x96xf16>, tensor<2x8x32xf16>, tensor<2x8x32xf16>) -> tensor<2x8x160xf16>
func.func @rows(%q: tensor<2x6x8x16xf16>, %k: tensor<2x2x8x16xf16>, %v: tensor<2x2x8x16xf16>, %s: tensor<2x6x8x1xf32>, %dy: tensor<2x6x8x16xf16>) -> tensor<2x8x160xf16> {
  %dq, %dk, %dv = graph.attention_grad %q, %k, %v from %s, %s, %s, %dy {scale = 0.25 : f64} : (tensor<2x6x8x16xf16>, tensor<2x2x8x16xf16>, tensor<2x2x8x16xf16>, tensor<2x6x8x1xf32>, tensor<2x6x8x1xf32>, tensor<2x6x8x1xf32>, tensor<2x6x8x16xf16>) -> (tensor<2x6x8x16xf16>, tensor<2x2x8x16xf16>, tensor<2x2x8x16xf16>)
  %0 = graph.transpose %dq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x6x8x16xf16>) -> tensor<2x8x6x16xf16>
  %1 = graph.transpose %dk {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x8x16xf16>) -> tensor<2x8x2x16xf16>
  %2 = graph.transpose %dv {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x8x16xf16>) -> tensor<2x8x2x16xf16>
  %3 = graph.reshape %0 : tensor<2x8x6x16xf16> to tensor<2x8x96xf16>
  %4 = graph.reshape %1 : tensor<2x8x2x16xf16> to tensor<2x8x32xf16>
  %5 = graph.reshape %2 : tensor<2x8x2x16xf16> to tensor<2x8x32xf16>
  %6 = graph.concat %3, %4, %5 {axis = 2 : i64} : (tensor<2x8x96xf16>, tensor<2x8x32xf16>, tensor<2x8x32xf16>) -> tensor<2x8x160xf16>
  return %6 : tensor<2x8x160xf16>
}

// A row that something else reads, too, and values of another kind, stay as they are.
// CHECK-LABEL: @others
// CHECK-NOT: axis = 2 : i64
// CHECK: return
func.func @others(%x: tensor<2x8x6x16xf16>, %y: tensor<2x8x2x16xf16>) -> tensor<16x128xf16> {
  %0 = graph.reshape %x : tensor<2x8x6x16xf16> to tensor<16x96xf16>
  %1 = graph.reshape %y : tensor<2x8x2x16xf16> to tensor<16x32xf16>
  %2 = graph.concat %0, %1 {axis = 1 : i64} : (tensor<16x96xf16>, tensor<16x32xf16>) -> tensor<16x128xf16>
  return %2 : tensor<16x128xf16>
}
