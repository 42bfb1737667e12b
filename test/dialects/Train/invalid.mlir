// RUN: mpc-opt %s --split-input-file --verify-diagnostics

train.step @main() -> tensor<f32> attributes {optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>} {
  // expected-error @+1 {{yields other types than the results of @main}}
  train.yield
}

// -----
// expected-error @+1 {{accumulates at least one batch}}
train.step @main() attributes {accumulate = 0 : i64, optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>} {
  train.yield
}

// -----
// expected-error @+1 {{clips at a positive number}}
train.step @main() attributes {clip_norm = -1.0 : f64, optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>} {
  train.yield
}

// -----
train.variable @w parameter : tensor<4xf32> = #train.fill<0.0 : f64>
train.variable @v buffer : tensor<4xf32> = #train.fill<0.0 : f64>
train.step @main() attributes {optimizer = #train.optimizer<sgd>, parameters = [@w], scaler = #train.scaler<none>} {
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
// Entries that are functions are checked too; other entries may assign the variable again.
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
train.step @main(%g: tensor<4xf32>, %skip: tensor<4xi1>) attributes {optimizer = #train.optimizer<sgd>, parameters = [@w], scaler = #train.scaler<none>} {
  // expected-error @+1 {{operand #1 must be a flag: a scalar i1, but got 'tensor<4xi1>'}}
  train.update @w, %g unless %skip : tensor<4xf32>, tensor<4xi1>
  train.yield
}

// -----
// expected-error @+1 {{initial value has type 'tensor<3xf32>', not 'tensor<4xf32>'}}
train.variable @w parameter : tensor<4xf32> = dense<0.0> : tensor<3xf32>

// -----
// expected-error @+1 {{cannot start as "zero"}}
train.variable @w parameter : tensor<4xf32> = "zero"

// -----
// expected-error @+1 {{stores 'tensor<4x2xf32>' by array<i64: 0, 0>, which is no permutation of its dimensions}}
train.variable @w parameter : tensor<4x2xf32> = #train.fill<0.0 : f64> {train.permutation = array<i64: 0, 0>}

// -----
// expected-error @+1 {{stores 'tensor<4x2xf32>' by array<i64: 0, 2, 1>, which is no permutation of its dimensions}}
train.variable @w parameter : tensor<4x2xf32> = #train.fill<0.0 : f64> {train.permutation = array<i64: 0, 2, 1>}

// -----
// An initial value has the dimension order of the model, whatever order the variable is stored in.
// expected-error @+1 {{initial value has type 'tensor<4x2xf32>', not 'tensor<2x4xf32>'}}
train.variable @w parameter : tensor<4x2xf32> = dense<0.0> : tensor<4x2xf32> {train.permutation = array<i64: 1, 0>}

// -----
// expected-error @+1 {{'train.variable' op belongs to @w, which is not a parameter}}
train.variable @"w/momentum" slot : tensor<4xf32> = #train.fill<0.0 : f64> {of = @w}

// -----
train.variable @v buffer : tensor<4xf32> = #train.fill<0.0 : f64>
// expected-error @+1 {{'train.variable' op belongs to @v, which is not a parameter}}
train.variable @"v/momentum" slot : tensor<4xf32> = #train.fill<0.0 : f64> {of = @v}

// -----
// expected-error @+1 {{'train.variable' op is state of @main, which is not a train.step}}
train.variable @"main/lr" hyper : tensor<f32> = #train.fill<0.0 : f64> {step = @main}

// -----
// expected-error @+1 {{'train.variable' op is state of @main, which is not a train.step}}
train.variable @"main/lr" hyper : tensor<f32> = #train.fill<0.0 : f64> {step = @main}
func.func @main() {
  return
}

// -----
// expected-error @+1 {{'train.variable' op copies @w, which is not a variable}}
train.variable @"w/f16" copy : tensor<4xf16> = #train.copy_of<@w>

// -----
// expected-note @+1 {{variable is here}}
train.variable @w parameter : tensor<4xf32> = #train.fill<0.0 : f64>
// expected-error @+1 {{'train.variable' op copies @w as 'tensor<2x2xf16>', but it is 'tensor<4xf32>'}}
train.variable @"w/f16" copy : tensor<2x2xf16> = #train.copy_of<@w> {of = @w}

// -----
// expected-note @+2 {{variable is here}}
// expected-error @+1 {{'train.variable' op copies @w, which is a copy itself}}
train.variable @w copy : tensor<4xf32> = #train.copy_of<@w>

// -----
func.func @read() -> tensor<4xf32> {
  // expected-error @+1 {{'train.read' op no variable @w}}
  %w = train.read @w : tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----
// expected-note @+1 {{variable is here}}
train.variable @w parameter : tensor<4xf32> = #train.fill<0.0 : f64>
func.func @read_type() -> tensor<4xf16> {
  // expected-error @+1 {{'train.read' op uses @w as 'tensor<4xf16>', but it is 'tensor<4xf32>'}}
  %w = train.read @w : tensor<4xf16>
  return %w : tensor<4xf16>
}

// -----
func.func @assign(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.assign' op no variable @w}}
  train.assign @w, %x : tensor<4xf32>
  return
}

// -----
// expected-note @+1 {{variable is here}}
train.variable @w parameter : tensor<4xf32> = #train.fill<0.0 : f64>
func.func @assign_type(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{'train.assign' op uses @w as 'tensor<2x2xf32>', but it is 'tensor<4xf32>'}}
  train.assign @w, %x : tensor<2x2xf32>
  return
}

// -----
train.step @main(%g: tensor<4xf32>) attributes {optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>} {
  // expected-error @+1 {{'train.update' op no variable @w}}
  train.update @w, %g : tensor<4xf32>
  train.yield
}

// -----
// A gradient may be f32 whatever type the parameter is stored in, but of no other type.
// expected-note @+1 {{variable is here}}
train.variable @w parameter : tensor<4xf16> = #train.fill<0.0 : f64>
train.step @main(%g: tensor<4xf32>, %h: tensor<4xbf16>) attributes {optimizer = #train.optimizer<sgd>, parameters = [@w], scaler = #train.scaler<none>} {
  train.update @w, %g : tensor<4xf32>
  // expected-error @+1 {{'train.update' op uses @w as 'tensor<4xbf16>', but it is 'tensor<4xf16>'}}
  train.update @w, %h : tensor<4xbf16>
  train.yield
}

// -----
// expected-error @+1 {{trains @w, which is not a parameter}}
train.step @main() attributes {optimizer = #train.optimizer<sgd>, parameters = [@w], scaler = #train.scaler<none>} {
  train.yield
}

// -----
train.variable @v buffer : tensor<4xf32> = #train.fill<0.0 : f64>
// expected-error @+1 {{trains @v, which is not a parameter}}
train.step @main() attributes {optimizer = #train.optimizer<sgd>, parameters = [@v], scaler = #train.scaler<none>} {
  train.yield
}

// -----
train.variable @v parameter : tensor<4xf32> = #train.fill<0.0 : f64>
train.variable @w parameter : tensor<4xf32> = #train.fill<0.0 : f64>
// expected-error @+1 {{'train.step' op trains @w twice}}
train.step @main() attributes {optimizer = #train.optimizer<sgd>, parameters = [@w, @v, @w], scaler = #train.scaler<none>} {
  train.yield
}

// -----
// expected-error @+1 {{clips at a positive number}}
train.step @main() attributes {clip_value = 0.0 : f64, optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>} {
  train.yield
}
