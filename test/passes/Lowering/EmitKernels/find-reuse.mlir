// RUN: mpc-opt %s --mpc-find-reuse | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-find-reuse | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: mpc-opt %s --mpc-find-reuse --mpc-find-reuse | FileCheck %s --check-prefixes=CHECK,HOST

// Each element is read before it is written, and no other thread reads it: the result may lie where either operand does. A bias is read again for the next row.
// CHECK-LABEL: func.func @pointwise
// CHECK: kernel.dispatch "update"(%arg0, %arg1) {may_reuse = [array<i64: 0, 1>]}
// CHECK: kernel.dispatch "bias"({{.*}}) {may_reuse = [array<i64: 0>]}
func.func @pointwise(%w: tensor<8x8xf32>, %g: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %0 = kernel.dispatch "update" (%w, %g) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>):
    %e = graph.sub %a, %c : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %e : tensor<8x8xf32>
  }
  %1 = kernel.dispatch "bias" (%0, %b) : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %c: tensor<8xf32>):
    %e = graph.add %a, %c : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
    kernel.yield %e : tensor<8x8xf32>
  }
  return %1 : tensor<8x8xf32>
}

// A transpose reads what it has overwritten, and elements of another width lie elsewhere. An answer for an earlier body goes.
// CHECK-LABEL: func.func @none
// CHECK: kernel.dispatch "transpose"(%arg0) :
// CHECK: kernel.dispatch "narrow"(%0) :
func.func @none(%x: tensor<8x8xf32>) -> tensor<8x8xf16> {
  %0 = kernel.dispatch "transpose" (%x) {may_reuse = [array<i64: 0>]} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %e = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %e : tensor<8x8xf32>
  }
  %1 = kernel.dispatch "narrow" (%0) : (tensor<8x8xf32>) -> tensor<8x8xf16> {
  ^bb0(%a: tensor<8x8xf32>):
    %e = graph.cast %a : tensor<8x8xf32> to tensor<8x8xf16>
    kernel.yield %e : tensor<8x8xf16>
  }
  return %1 : tensor<8x8xf16>
}

// A row is reduced before its elements are written. On a GPU a value of the row that a sum reads is read by many threads, which one thread would overwrite.
// CHECK-LABEL: func.func @rows
// HOST: kernel.dispatch "softmax"(%arg0) {may_reuse = [array<i64: 0>]}
// GPU: kernel.dispatch "softmax"(%arg0) {may_reuse = [array<i64: 0>]}
// HOST: kernel.dispatch "row"(%arg0, %arg1) {may_reuse = [array<i64: 1>]}
// GPU: kernel.dispatch "row"(%arg0, %arg1) :
func.func @rows(%x: tensor<8x64xf32>, %s: tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>) {
  %0 = kernel.dispatch "softmax" (%x) : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %m = graph.reduce_max %a {axes = array<i64: 1>, keepdims = true} : (tensor<8x64xf32>) -> tensor<8x1xf32>
    %d = graph.sub %a, %m : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    kernel.yield %d : tensor<8x64xf32>
  }
  %1 = kernel.dispatch "row" (%x, %s) : (tensor<8x64xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8xf32>):
    %c = graph.reshape %b : tensor<8xf32> to tensor<8x1xf32>
    %d = graph.sub %a, %c : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
    %m = graph.reduce_sum %d {axes = array<i64: 1>, keepdims = false} : (tensor<8x64xf32>) -> tensor<8xf32>
    kernel.yield %m : tensor<8xf32>
  }
  return %0, %1 : tensor<8x64xf32>, tensor<8xf32>
}

// Nobody asks this about products, or about results without elements.
// CHECK-LABEL: func.func @others
// CHECK: kernel.dispatch "library"({{.*}}) {library}
// CHECK: kernel.dispatch "nothing"(%arg1) :
func.func @others(%x: tensor<8x8xf32>, %y: tensor<0xf32>) -> (tensor<8x8xf32>, tensor<0xf32>) {
  %0 = kernel.dispatch "library" (%x) {library} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %e = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %e : tensor<8x8xf32>
  }
  %1 = kernel.dispatch "nothing" (%y) : (tensor<0xf32>) -> tensor<0xf32> {
  ^bb0(%a: tensor<0xf32>):
    %e = graph.exp %a : tensor<0xf32>
    kernel.yield %e : tensor<0xf32>
  }
  return %0, %1 : tensor<8x8xf32>, tensor<0xf32>
}
