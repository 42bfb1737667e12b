// RUN: mpc-opt %s --mpc-attach-loss="step={G:loss=mse:y:t:params=^main$},{D:loss=l1:y:t:params=^v$} param-group={^main$:lr=2}" | FileCheck %s
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group={main_0:lr=2}" 2>&1 | FileCheck %s --check-prefix=SYMBOL
// Patterns match the user's name of a parameter, which is the initializer's name; here an entry has taken it as a symbol.
train.variable @main_0 parameter : tensor<2xf32> = #train.fill<1.0> {train.name = "main"}
train.variable @v parameter : tensor<2xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x2xf32> {train.name = "x", train.batched}) -> (tensor<4x2xf32> {train.name = "y", train.role = "output"}) {
  %w = train.read @main_0 : tensor<2xf32>
  %v = train.read @v : tensor<2xf32>
  %p = graph.mul %x, %w : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %y = graph.mul %p, %v : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
// CHECK: train.step @G({{.*}}parameters = [@main_0]
// CHECK: train.step @D({{.*}}parameters = [@v]
// SYMBOL: parameter group 'main_0' matches no parameter
