// RUN: mpc-interpret %s | FileCheck %s

func.func @main() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>, tensor<2x2xf32>, tensor<3xi1>, tensor<4xui8>) {
  %a = graph.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %b = graph.constant dense<[[10.0], [20.0]]> : tensor<2x1xf32>
  // CHECK: 0: tensor<2x2xf32> = {{\[\[}}-9, -8], [-19, -18]]
  %0 = graph.sub %a, %b : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  // CHECK: 1: tensor<2x2xf32> = {{\[\[}}10, 20], [20, 40]]
  %1 = graph.mul %a, %b : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  // The remainder has the sign of the divisor, or with fmod that of the dividend.
  %c = graph.constant dense<[7, -7, 7, -7]> : tensor<4xi32>
  %d = graph.constant dense<[3, 3, -3, -3]> : tensor<4xi32>
  // CHECK: 2: tensor<4xi32> = [1, 2, -2, -1]
  %2 = graph.mod %c, %d : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: 3: tensor<4xi32> = [1, -1, 1, -1]
  %3 = graph.mod %c, %d {fmod} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %e = graph.constant dense<[2.0, -2.0, 0.0, 9.0]> : tensor<4xf32>
  %f = graph.constant dense<[10.0, 3.0, 0.0, -0.5]> : tensor<4xf32>
  // CHECK: 4: tensor<4xf32> = [1024, -8, 1, 0.33333334]
  %4 = graph.pow %e, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // NaN wins in min and max and relu, and compares as different.
  %g = graph.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
  %h = graph.constant dense<[2.0, 2.0, 0x7FC00000]> : tensor<3xf32>
  // CHECK: 5: tensor<3xf32> = [1, nan, nan]
  %5 = graph.min %g, %h : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK: 6: tensor<3xf32> = [2, nan, nan]
  %6 = graph.max %g, %h : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK: 7: tensor<3xf32> = [1, nan, 3]
  %7 = graph.relu %g : tensor<3xf32>
  // CHECK: 8: tensor<3xi1> = [1, 0, 0]
  %8 = graph.compare lt %g, %h : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  // CHECK: 9: tensor<3xi1> = [1, 1, 1]
  %9 = graph.compare ne %g, %h : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %i = graph.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: 10: tensor<2x2xf32> = {{\[\[}}1, 10], [1, 20]]
  %10 = graph.select %i, %a, %b : (tensor<2xi1>, tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  // CHECK: 11: tensor<3xi1> = [0, 1, 0]
  %11 = graph.is_nonfinite %g : (tensor<3xf32>) -> tensor<3xi1>
  %j = graph.constant dense<[0, 100, 200, 255]> : tensor<4xui8>
  // CHECK: 12: tensor<4xui8> = [0, 200, 144, 254]
  %12 = graph.add %j, %j : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>, tensor<2x2xf32>, tensor<3xi1>, tensor<4xui8>
}

// Integers divided by zero give 0, whatever the CPU would do.
// RUN: mpc-interpret %s --entry=zero | FileCheck %s --check-prefix=ZERO
func.func @zero() -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %x = graph.constant dense<[7, -7]> : tensor<2xi32>
  %z = graph.constant dense<0> : tensor<i32>
  // ZERO: 0: tensor<2xi32> = [0, 0]
  %0 = graph.div %x, %z : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  // ZERO: 1: tensor<2xi32> = [0, 0]
  %1 = graph.mod %x, %z : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  // ZERO: 2: tensor<2xi32> = [0, 0]
  %2 = graph.mod %x, %z {fmod} : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}

// RUN: mpc-interpret %s --entry=logic | FileCheck %s --check-prefix=LOGIC
func.func @logic() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<3xi1>) {
  %a = graph.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = graph.constant dense<[false, true, false, true]> : tensor<4xi1>
  // LOGIC: 0: tensor<4xi1> = [0, 0, 0, 1]
  %0 = graph.and %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // LOGIC-NEXT: 1: tensor<4xi1> = [0, 1, 1, 1]
  %1 = graph.or %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // LOGIC-NEXT: 2: tensor<4xi1> = [0, 1, 1, 0]
  %2 = graph.xor %a, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  // LOGIC-NEXT: 3: tensor<4xi1> = [1, 1, 0, 0]
  %3 = graph.not %a : tensor<4xi1>
  // An infinity is a number.
  %g = graph.constant dense<[1.0, 0x7FC00000, 0x7F800000]> : tensor<3xf32>
  // LOGIC-NEXT: 4: tensor<3xi1> = [0, 1, 0]
  %4 = graph.is_nan %g : (tensor<3xf32>) -> tensor<3xi1>
  return %0, %1, %2, %3, %4 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<3xi1>
}
