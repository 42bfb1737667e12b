// RUN: mpc-opt %s --split-input-file --verify-diagnostics

train.step @main() -> tensor<f32> attributes {optimizer = {name = "sgd"}, parameters = [], scaler = {kind = "none"}} {
  // expected-error @+1 {{yields other types than the results of @main}}
  train.yield
}

// -----
// expected-error @+1 {{accumulates at least one batch}}
train.step @main() attributes {accumulate = 0 : i64, optimizer = {name = "sgd"}, parameters = [], scaler = {kind = "none"}} {
  train.yield
}

// -----
// expected-error @+1 {{clips at a positive number}}
train.step @main() attributes {clip_norm = -1.0 : f64, optimizer = {name = "sgd"}, parameters = [], scaler = {kind = "none"}} {
  train.yield
}

// -----
train.variable @w parameter : tensor<4xf32> = #train.fill<0.0 : f64>
train.variable @v buffer : tensor<4xf32> = #train.fill<0.0 : f64>
train.step @main() attributes {optimizer = {name = "sgd"}, parameters = [@w], scaler = {kind = "none"}} {
  %w = train.read @w : tensor<4xf32>
  // expected-note @+1 {{the first is here}}
  train.assign @w, %w : tensor<4xf32>
  %v = train.read @v : tensor<4xf32>
  train.assign @v, %v : tensor<4xf32>
  // expected-error @+1 {{gives @w a second value in this entry}}
  train.assign @w, %v : tensor<4xf32>
  train.yield
}

// -----
// Entries of the other kind, too; other entries may assign it again.
train.variable @w parameter : tensor<4xf32> = #train.fill<0.0 : f64>
func.func @first(%x: tensor<4xf32>) {
  train.assign @w, %x : tensor<4xf32>
  return
}
func.func @second(%x: tensor<4xf32>) {
  // expected-note @+1 {{the first is here}}
  train.assign @w, %x : tensor<4xf32>
  // expected-error @+1 {{gives @w a second value in this entry}}
  train.assign @w, %x : tensor<4xf32>
  return
}

// -----
train.variable @w parameter : tensor<4xf32> = #train.fill<0.0 : f64>
train.step @main(%g: tensor<4xf32>, %skip: tensor<4xi1>) attributes {optimizer = {name = "sgd"}, parameters = [@w], scaler = {kind = "none"}} {
  // expected-error @+1 {{operand #1 must be a flag: a scalar i1, but got 'tensor<4xi1>'}}
  train.update @w, %g unless %skip : tensor<4xf32>, tensor<4xi1>
  train.yield
}
