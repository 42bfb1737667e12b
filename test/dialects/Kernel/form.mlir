// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// A dispatch states its form before its name.
// CHECK: kernel.dispatch contraction "product"(%{{.*}}) :
// GENERIC: "kernel.dispatch"(%{{.*}}) <{form = #kernel.form<contraction>, name = "product"}>
// CHECK: kernel.dispatch pointwise "turned"(
// CHECK: kernel.dispatch reduction "sums"(
// CHECK: kernel.dispatch row "shares"(
// CHECK: kernel.dispatch scatter "gradient"(
// CHECK: kernel.dispatch batch "both"(
// CHECK: kernel.dispatch pointwise "one"(
// CHECK: kernel.dispatch reduction "other"(
func.func @forms(%x: tensor<8x8xf32>, %i: tensor<8xi32>) {
  %0 = kernel.dispatch contraction "product" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %1 : tensor<8x8xf32>
  }
  %1:2 = kernel.dispatch pointwise "turned" (%x) : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<8x8xf32>):
    %2 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = graph.reshape %a : tensor<8x8xf32> to tensor<64xf32>
    kernel.yield %2, %3 : tensor<8x8xf32>, tensor<64xf32>
  }
  %2 = kernel.dispatch reduction "sums" (%x) : (tensor<8x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %3 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<8x8xf32>) -> tensor<8xf32>
    kernel.yield %3 : tensor<8xf32>
  }
  %3 = kernel.dispatch row "shares" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %4 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
    %5 = graph.div %a, %4 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
    kernel.yield %5 : tensor<8x8xf32>
  }
  %4 = kernel.dispatch scatter "gradient" (%x, %i) : (tensor<8x8xf32>, tensor<8xi32>) -> tensor<5x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8xi32>):
    %5 = graph.scatter %a, %b {axis = 0 : i64} : (tensor<8x8xf32>, tensor<8xi32>) -> tensor<5x8xf32>
    kernel.yield %5 : tensor<5x8xf32>
  }
  %5:2 = kernel.dispatch batch "both" (%x) : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<f32>) {
  ^bb0(%a: tensor<8x8xf32>):
    %6 = kernel.dispatch pointwise "one" (%a) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%b: tensor<8x8xf32>):
      %8 = graph.exp %b : tensor<8x8xf32>
      kernel.yield %8 : tensor<8x8xf32>
    }
    %7 = kernel.dispatch reduction "other" (%a) : (tensor<8x8xf32>) -> tensor<f32> {
    ^bb0(%b: tensor<8x8xf32>):
      %8 = graph.reduce_max %b {axes = array<i64: 0, 1>, keepdims = false} : (tensor<8x8xf32>) -> tensor<f32>
      kernel.yield %8 : tensor<f32>
    }
    kernel.yield %6, %7 : tensor<8x8xf32>, tensor<f32>
  }
  return
}

// What has no element needs no loops: a reduction of nothing writes constants, results without elements are not walked over, and a sum along one index is a copy.
// CHECK-LABEL: @empty
func.func @empty(%x: tensor<0x4xf32>, %y: tensor<4x1xf32>) {
  %0 = kernel.dispatch pointwise "nothing" (%x) : (tensor<0x4xf32>) -> tensor<0xf32> {
  ^bb0(%a: tensor<0x4xf32>):
    %1 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<0x4xf32>) -> tensor<0xf32>
    kernel.yield %1 : tensor<0xf32>
  }
  %1:2 = kernel.dispatch pointwise "zeros" (%x) : (tensor<0x4xf32>) -> (tensor<0x4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<0x4xf32>):
    %2 = graph.exp %a : tensor<0x4xf32>
    %3 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<0x4xf32>) -> tensor<4xf32>
    kernel.yield %2, %3 : tensor<0x4xf32>, tensor<4xf32>
  }
  %2 = kernel.dispatch pointwise "copy" (%y) : (tensor<4x1xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x1xf32>):
    %3 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<4x1xf32>) -> tensor<4xf32>
    kernel.yield %3 : tensor<4xf32>
  }
  return
}

// On a GPU, values and their transposes have a form of their own. It is a choice: loops compute them as well.
module attributes {kernel.target = #kernel.target<"sm_80">} {
  // CHECK-LABEL: @transposes
  // CHECK: kernel.dispatch transposed_copy "tiles"(
  // CHECK: kernel.dispatch pointwise "loops"(
  func.func @transposes(%x: tensor<8x4xf16>) {
    %0:2 = kernel.dispatch transposed_copy "tiles" (%x) : (tensor<8x4xf16>) -> (tensor<8x4xf16>, tensor<4x8xf16>) {
    ^bb0(%a: tensor<8x4xf16>):
      %1 = graph.exp %a : tensor<8x4xf16>
      %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x4xf16>) -> tensor<4x8xf16>
      kernel.yield %1, %2 : tensor<8x4xf16>, tensor<4x8xf16>
    }
    %1:2 = kernel.dispatch pointwise "loops" (%x) : (tensor<8x4xf16>) -> (tensor<8x4xf16>, tensor<4x8xf16>) {
    ^bb0(%a: tensor<8x4xf16>):
      %1 = graph.exp %a : tensor<8x4xf16>
      %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<8x4xf16>) -> tensor<4x8xf16>
      kernel.yield %1, %2 : tensor<8x4xf16>, tensor<4x8xf16>
    }
    return
  }
}
