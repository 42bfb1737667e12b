// RUN: mpc-interpret %s | FileCheck %s
// RUN: mpc-interpret %s --entry=clip | FileCheck %s --check-prefix=CLIP
// RUN: mpc-interpret %s --entry=more | FileCheck %s --check-prefix=MORE
// Elementwise functions on fp32 give correctly rounded results. The expected numbers come from float64 formulas of an independent implementation.

func.func @main() -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %x = graph.constant dense<[-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]> : tensor<6xf32>
  %p = graph.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0, 10.0]> : tensor<6xf32>
  %u = graph.constant dense<[-0.75, -0.5, 0.0, 0.25, 0.5, 0.9]> : tensor<6xf32>
  %0 = graph.abs %x : tensor<6xf32>
  // CHECK: 0: tensor<6xf32> = [2, 0.5, 0, 0.25, 1, 3]
  %1 = graph.neg %x : tensor<6xf32>
  // CHECK-NEXT: 1: tensor<6xf32> = [2, 0.5, {{-?}}0, -0.25, -1, -3]
  %2 = graph.sign %x : tensor<6xf32>
  // CHECK-NEXT: 2: tensor<6xf32> = [-1, -1, 0, 1, 1, 1]
  %3 = graph.floor %x : tensor<6xf32>
  // CHECK-NEXT: 3: tensor<6xf32> = [-2, -1, 0, 0, 1, 3]
  %4 = graph.ceil %x : tensor<6xf32>
  // CHECK-NEXT: 4: tensor<6xf32> = [-2, {{-?}}0, 0, 1, 1, 3]
  %5 = graph.round %x : tensor<6xf32>
  // CHECK-NEXT: 5: tensor<6xf32> = [-2, {{-?}}0, 0, 0, 1, 3]
  %6 = graph.exp %x : tensor<6xf32>
  // CHECK-NEXT: 6: tensor<6xf32> = [0.13533528, 0.60653067, 1, 1.2840254, 2.7182817, 20.085537]
  %7 = graph.log %p : tensor<6xf32>
  // CHECK-NEXT: 7: tensor<6xf32> = [-1.3862944, -0.6931472, 0, 0.6931472, 1.0986123, 2.3025851]
  %8 = graph.sqrt %p : tensor<6xf32>
  // CHECK-NEXT: 8: tensor<6xf32> = [0.5, 0.70710677, 1, 1.4142135, 1.7320508, 3.1622777]
  %9 = graph.rsqrt %p : tensor<6xf32>
  // CHECK-NEXT: 9: tensor<6xf32> = [2, 1.4142135, 1, 0.70710677, 0.57735026, 0.31622776]
  %10 = graph.reciprocal %p : tensor<6xf32>
  // CHECK-NEXT: 10: tensor<6xf32> = [4, 2, 1, 0.5, 0.33333334, 0.1]
  %11 = graph.sin %x : tensor<6xf32>
  // CHECK-NEXT: 11: tensor<6xf32> = [-0.9092974, -0.47942555, 0, 0.24740396, 0.84147096, 0.14112]
  %12 = graph.cos %x : tensor<6xf32>
  // CHECK-NEXT: 12: tensor<6xf32> = [-0.41614684, 0.87758255, 1, 0.9689124, 0.5403023, -0.9899925]
  %13 = graph.tan %x : tensor<6xf32>
  // CHECK-NEXT: 13: tensor<6xf32> = [2.1850398, -0.5463025, 0, 0.25534192, 1.5574077, -0.14254655]
  %14 = graph.asin %u : tensor<6xf32>
  // CHECK-NEXT: 14: tensor<6xf32> = [-0.8480621, -0.5235988, 0, 0.25268024, 0.5235988, 1.1197695]
  %15 = graph.acos %u : tensor<6xf32>
  // CHECK-NEXT: 15: tensor<6xf32> = [2.4188583, 2.0943952, 1.5707964, 1.3181161, 1.0471976, 0.45102686]
  %16 = graph.atan %x : tensor<6xf32>
  // CHECK-NEXT: 16: tensor<6xf32> = [-1.1071488, -0.4636476, 0, 0.24497867, 0.7853982, 1.2490457]
  %17 = graph.sinh %x : tensor<6xf32>
  // CHECK-NEXT: 17: tensor<6xf32> = [-3.6268604, -0.5210953, 0, 0.25261232, 1.1752012, 10.017875]
  %18 = graph.cosh %x : tensor<6xf32>
  // CHECK-NEXT: 18: tensor<6xf32> = [3.7621956, 1.127626, 1, 1.0314131, 1.5430807, 10.067662]
  %19 = graph.asinh %x : tensor<6xf32>
  // CHECK-NEXT: 19: tensor<6xf32> = [-1.4436355, -0.4812118, 0, 0.24746646, 0.8813736, 1.8184465]
  %20 = graph.atanh %u : tensor<6xf32>
  // CHECK-NEXT: 20: tensor<6xf32> = [-0.97295505, -0.54930615, 0, 0.25541282, 0.54930615, 1.4722193]
  %21 = graph.erf %x : tensor<6xf32>
  // CHECK-NEXT: 21: tensor<6xf32> = [-0.9953223, -0.5204999, 0, 0.2763264, 0.8427008, 0.9999779]
  %22 = graph.tanh %x : tensor<6xf32>
  // CHECK-NEXT: 22: tensor<6xf32> = [-0.9640276, -0.46211717, 0, 0.24491866, 0.7615942, 0.9950548]
  %23 = graph.sigmoid %x : tensor<6xf32>
  // CHECK-NEXT: 23: tensor<6xf32> = [0.11920292, 0.37754068, 0.5, 0.5621765, 0.7310586, 0.95257413]
  %24 = graph.relu %x : tensor<6xf32>
  // CHECK-NEXT: 24: tensor<6xf32> = [0, 0, 0, 0.25, 1, 3]
  %25 = graph.softplus %x : tensor<6xf32>
  // CHECK-NEXT: 25: tensor<6xf32> = [0.12692802, 0.474077, 0.6931472, 0.8259394, 1.3132616, 3.0485873]
  %26 = graph.hard_swish %x : tensor<6xf32>
  // CHECK-NEXT: 26: tensor<6xf32> = [-0.33333334, -0.20833333, 0, 0.13541667, 0.6666667, 3]
  %27 = graph.leaky_relu %x {alpha = 0.125 : f64} : tensor<6xf32>
  // CHECK-NEXT: 27: tensor<6xf32> = [-0.25, -0.0625, 0, 0.25, 1, 3]
  %28 = graph.elu %x {alpha = 0.5 : f64} : tensor<6xf32>
  // CHECK-NEXT: 28: tensor<6xf32> = [-0.43233237, -0.19673467, 0, 0.25, 1, 3]
  %29 = graph.hard_sigmoid %x {alpha = 0.25 : f64, beta = 0.5 : f64} : tensor<6xf32>
  // CHECK-NEXT: 29: tensor<6xf32> = [0, 0.375, 0.5, 0.5625, 0.75, 1]
  %30 = graph.gelu %x : tensor<6xf32>
  // CHECK-NEXT: 30: tensor<6xf32> = [-0.045500264, -0.15426877, 0, 0.14967658, 0.8413448, 2.9959502]
  %31 = graph.gelu %x {approximate} : tensor<6xf32>
  // CHECK-NEXT: 31: tensor<6xf32> = [-0.045402307, -0.154286, 0, 0.14967535, 0.841192, 2.9963627]
  %32 = graph.clip %x {min = -1.0 : f64, max = 0.5 : f64} : tensor<6xf32>
  // CHECK-NEXT: 32: tensor<6xf32> = [-1, -0.5, 0, 0.25, 0.5, 0.5]
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// Where the bounds cross, max wins (numbers of onnx.reference and torch.clamp, 2.15). Integers have the outermost bounds that are integers of their type.
func.func @clip() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xui8>) {
  %x = graph.constant dense<[-1.0, 0.0, 5.0, 0x7F800000]> : tensor<4xf32>
  %i = graph.constant dense<[-5, 0, 2, 9]> : tensor<4xi32>
  %u = graph.constant dense<[0, 1, 2, 9]> : tensor<4xui8>
  // CLIP: 0: tensor<4xf32> = [1, 1, 1, 1]
  %0 = graph.clip %x {min = 2.0 : f64, max = 1.0 : f64} : tensor<4xf32>
  // CLIP-NEXT: 1: tensor<4xf32> = [-inf, -inf, -inf, -inf]
  %1 = graph.clip %x {min = 2.0 : f64, max = 0xFFF0000000000000 : f64} : tensor<4xf32>
  // CLIP-NEXT: 2: tensor<4xi32> = [1, 1, 1, 1]
  %2 = graph.clip %i {min = 5.0 : f64, max = 1.0 : f64} : tensor<4xi32>
  // CLIP-NEXT: 3: tensor<4xi32> = [3, 3, 3, 7]
  %3 = graph.clip %i {min = 2.5 : f64, max = 7.5 : f64} : tensor<4xi32>
  // CLIP-NEXT: 4: tensor<4xi32> = [-5, -3, -3, -3]
  %4 = graph.clip %i {min = -7.5 : f64, max = -2.5 : f64} : tensor<4xi32>
  // CLIP-NEXT: 5: tensor<4xui8> = [0, 0, 0, 0]
  %5 = graph.clip %u {min = 3.0 : f64, max = -1.0 : f64} : tensor<4xui8>
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xui8>
}

func.func @more() -> (tensor<3xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %x = graph.constant dense<[-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]> : tensor<6xf32>
  // log(1.25 + 0.75) is log(2).
  %p = graph.constant dense<[1.0, 1.25, 3.0]> : tensor<3xf32>
  // MORE: 0: tensor<3xf32> = [0, 0.6931472, 1.7627472]
  %0 = graph.acosh %p : tensor<3xf32>
  // MORE-NEXT: 1: tensor<6xf32> = [-0.6666667, -0.33333334, 0, 0.2, 0.5, 0.75]
  %1 = graph.softsign %x : tensor<6xf32>
  %s = graph.constant dense<0.125> : tensor<f32>
  // MORE-NEXT: 2: tensor<6xf32> = [-0.25, -0.0625, 0, 0.25, 1, 3]
  %2 = graph.prelu %x, %s : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  // MORE-NEXT: 3: tensor<6xf32> = [-2, -0.5, 0, 0.25, 1, 3]
  %3 = graph.stop_gradient %x : tensor<6xf32>
  // MORE-NEXT: 4: tensor<6xf32> = [-0.03597242, -0.13447072, 0, 0.15561484, 0.880797{{[0-9]*}}, 2.992582{{[0-9]*}}]
  %4 = graph.swish %x {alpha = 2.0 : f64} : tensor<6xf32>
  // MORE-NEXT: 5: tensor<6xf32> = [0.022750132, 0.3085375{{[0-9]*}}, 0.5, 0.5987063{{[0-9]*}}, 0.841344{{[0-9]*}}, 0.9986501]
  %5 = graph.normal_cdf %x : tensor<6xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<3xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
