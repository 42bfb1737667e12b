// RUN: mpc-interpret %s --steps=3 --variables | FileCheck %s
// Variables live from run to run; reads see the state from before.

train.variable @w parameter : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
train.variable @"w/f16" copy : tensor<2xf16> = #train.copy_of<@w>
train.variable @count counter : tensor<i64> = dense<0> : tensor<i64>

// CHECK: 0: tensor<2xf16> = [1.2001953, 2.1992188]
// CHECK: w: tensor<2xf32> = [1.3000001, 2.2999997]
// CHECK: w/f16: tensor<2xf16> = [1.2998047, 2.3007812]
// CHECK: count: tensor<i64> = 3
func.func @main() -> tensor<2xf16> {
  %w = train.read @w : tensor<2xf32>
  %low = train.read @"w/f16" : tensor<2xf16>
  %step = graph.constant dense<0.1> : tensor<f32>
  %new = graph.add %w, %step : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %rounded = graph.cast %new : tensor<2xf32> to tensor<2xf16>
  train.assign @w, %new : tensor<2xf32>
  train.assign @"w/f16", %rounded : tensor<2xf16>
  %count = train.read @count : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %next = graph.add %count, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  train.assign @count, %next : tensor<i64>
  return %low : tensor<2xf16>
}
