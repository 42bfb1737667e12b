// RUN: mpc-opt %s --mpc-verify-arena --split-input-file --verify-diagnostics

// Side by side, and one constant in two places of the program.
train.variable @w parameter : tensor<4xf32> = #train.fill<0.5 : f64> {kernel.offset = 0 : i64}
func.func @apart() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.constant {kernel.offset = 64 : i64} dense<1.0> : tensor<4xf32>
  %1 = graph.constant {kernel.offset = 64 : i64} dense<1.0> : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----
// A constant without elements where a real one lies: whoever writes one for each offset would leave the other out.
func.func @empty() -> (tensor<0xf32>, tensor<4xf32>) {
  // expected-note @+1 {{the other one, at bytes 64 to 65}}
  %0 = graph.constant {kernel.offset = 64 : i64} dense<> : tensor<0xf32>
  // expected-error @+2 {{'graph.constant' op lies at bytes 64 to 80, where another constant or variable lies: this is a defect of mpc}}
  // expected-note @+1 {{hint: report it with the model}}
  %1 = graph.constant {kernel.offset = 64 : i64} dense<1.0> : tensor<4xf32>
  return %0, %1 : tensor<0xf32>, tensor<4xf32>
}

// -----
// expected-note @+1 {{the other one, at bytes 0 to 80}}
train.variable @w parameter : tensor<20xf32> = #train.fill<0.5 : f64> {kernel.offset = 0 : i64}
func.func @variable() -> tensor<4xf32> {
  // expected-error @+2 {{lies at bytes 64 to 80, where another constant or variable lies}}
  // expected-note @+1 {{hint: report it with the model}}
  %0 = graph.constant {kernel.offset = 64 : i64} dense<1.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
