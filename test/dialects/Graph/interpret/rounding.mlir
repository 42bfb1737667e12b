// RUN: mpc-interpret %s | FileCheck %s --check-prefixes=CHECK,ROUNDED
// RUN: mpc-interpret %s --mode=exact | FileCheck %s --check-prefixes=CHECK,EXACT
// Results are rounded once to the element type, to nearest even; exact mode does not round.

func.func @main() -> (tensor<7xf16>, tensor<4xbf16>, tensor<4xi8>, tensor<3xi32>, tensor<3xi1>, tensor<f16>, tensor<f16>, tensor<f16>, tensor<1x1xf16>, tensor<f32>, tensor<2xf16>) {
  // 65519 is below the midpoint of 65504 and 65536, and 65520 is that midpoint. 2^-25 is the midpoint of 0 and the smallest subnormal.
  %f = graph.constant dense<[0.1, 65519.0, 65520.0, 5.9604644775390625e-8, 2.98023223876953125e-8, 2.99e-8, -70000.0]> : tensor<7xf32>
  // ROUNDED: 0: tensor<7xf16> = [0.099975586, 65504, inf, 5.9604645e-08, 0, 5.9604645e-08, -inf]
  // EXACT: 0: tensor<7xf16> = [0.1, 65519, 65520, 5.9604645e-08, 2.9802322e-08, 2.99e-08, -70000]
  %0 = graph.cast %f : tensor<7xf32> to tensor<7xf16>
  %g = graph.constant dense<[0.1, 257.0, 259.0, 3.4e38]> : tensor<4xf32>
  // ROUNDED: 1: tensor<4xbf16> = [0.100097656, 256, 260, inf]
  %1 = graph.cast %g : tensor<4xf32> to tensor<4xbf16>
  // Casts to integers go toward zero, and then modulo 2^8. Casts to i1 tell whether a number is not zero.
  %h = graph.constant dense<[-1.9, 2.5, 127.0, 200.0]> : tensor<4xf32>
  // CHECK: 2: tensor<4xi8> = [-1, 2, 127, -56]
  %2 = graph.cast %h : tensor<4xf32> to tensor<4xi8>
  // Integer division goes toward zero; sums wrap.
  %i = graph.constant dense<[-7, 7, 2147483647]> : tensor<3xi32>
  %j = graph.constant dense<[2, -2, 1]> : tensor<3xi32>
  %k = graph.div %i, %j : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  // CHECK: 3: tensor<3xi32> = [-1, -5, -2147483648]
  %3 = graph.add %k, %j : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %l = graph.constant dense<[0.0, -0.0, 0.25]> : tensor<3xf32>
  // CHECK: 4: tensor<3xi1> = [0, 0, 1]
  %4 = graph.cast %l : tensor<3xf32> to tensor<3xi1>
  // Sums accumulate without rounding: a sum of 4096 ones would stop at 2048 in f16. The mean of 4096 times 60000 does not overflow.
  %ones = graph.constant dense<1.0> : tensor<4096xf16>
  // CHECK: 5: tensor<f16> = 4096
  %5 = graph.reduce_sum %ones {axes = array<i64: 0>, keepdims = false} : (tensor<4096xf16>) -> tensor<f16>
  %large = graph.constant dense<60000.0> : tensor<4096xf16>
  // CHECK: 6: tensor<f16> = 60000
  %6 = graph.reduce_mean %large {axes = array<i64: 0>, keepdims = false} : (tensor<4096xf16>) -> tensor<f16>
  // ROUNDED: 7: tensor<f16> = inf
  // EXACT: 7: tensor<f16> = 245760000
  %7 = graph.reduce_sum %large {axes = array<i64: 0>, keepdims = false} : (tensor<4096xf16>) -> tensor<f16>
  // One product computes 300*300 - 300*300 + 1; intermediate sums beyond f16 do not matter.
  %a = graph.constant dense<[[300.0, 300.0, 1.0]]> : tensor<1x3xf16>
  %b = graph.constant dense<[[300.0], [-300.0], [1.0]]> : tensor<3x1xf16>
  // CHECK: 8: tensor<1x1xf16> = {{\[\[}}1]]
  %8 = graph.matmul %a, %b : (tensor<1x3xf16>, tensor<3x1xf16>) -> tensor<1x1xf16>
  // 1 + 2^-24 is the midpoint of 1 and its f32 neighbour, and rounds to even.
  %one = graph.constant dense<1.0> : tensor<f32>
  %tiny = graph.constant dense<5.9604644775390625e-8> : tensor<f32>
  // ROUNDED: 9: tensor<f32> = 1{{$}}
  // EXACT: 9: tensor<f32> = 1.0000000596046448
  %9 = graph.add %one, %tiny : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // Every op rounds: (2048 + 1) gives 2048, and adding 1 again does too.
  %c = graph.constant dense<[2048.0, 2050.0]> : tensor<2xf16>
  %d = graph.constant dense<1.0> : tensor<f16>
  %e = graph.add %c, %d : (tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  // ROUNDED: 10: tensor<2xf16> = [2048, 2052]
  // EXACT: 10: tensor<2xf16> = [2050, 2052]
  %10 = graph.add %e, %d : (tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10 : tensor<7xf16>, tensor<4xbf16>, tensor<4xi8>, tensor<3xi32>, tensor<3xi1>, tensor<f16>, tensor<f16>, tensor<f16>, tensor<1x1xf16>, tensor<f32>, tensor<2xf16>
}
