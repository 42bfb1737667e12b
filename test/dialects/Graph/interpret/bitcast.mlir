// RUN: mpc-interpret %s | FileCheck %s
// Bitcasts keep the bits of numbers.

func.func @main() -> (tensor<3xi32>, tensor<2xf32>, tensor<2xui16>, tensor<2xbf16>, tensor<2xi8>) {
  %x = graph.constant dense<[1.0, -2.0, 0.0]> : tensor<3xf32>
  // CHECK: 0: tensor<3xi32> = [1065353216, -1073741824, 0]
  %0 = graph.bitcast %x : tensor<3xf32> to tensor<3xi32>
  %i = graph.constant dense<[1077936128, 3212836864]> : tensor<2xui32>
  // CHECK: 1: tensor<2xf32> = [3, -1]
  %1 = graph.bitcast %i : tensor<2xui32> to tensor<2xf32>
  %h = graph.constant dense<[1.0, -0.5]> : tensor<2xf16>
  // CHECK: 2: tensor<2xui16> = [15360, 47104]
  %2 = graph.bitcast %h : tensor<2xf16> to tensor<2xui16>
  // These are 0x3c00 and 0xb800 as bfloat16.
  // CHECK: 3: tensor<2xbf16> = [0.0078125, -3.05{{[0-9]*}}e-05]
  %3 = graph.bitcast %2 : tensor<2xui16> to tensor<2xbf16>
  %u = graph.constant dense<[1, 255]> : tensor<2xui8>
  // CHECK: 4: tensor<2xi8> = [1, -1]
  %4 = graph.bitcast %u : tensor<2xui8> to tensor<2xi8>
  return %0, %1, %2, %3, %4 : tensor<3xi32>, tensor<2xf32>, tensor<2xui16>, tensor<2xbf16>, tensor<2xi8>
}
