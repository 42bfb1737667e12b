// RUN: mpc-opt %s --split-input-file --verify-diagnostics --mpc-loss-scaling

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{loss scaler of step @main: 'sometimes' is no kind}}
// expected-note @+1 {{hint: none, static, dynamic or calibrate}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "sometimes"}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{'growth_factor' is no option of kind static}}
// expected-note @+1 {{hint: static takes init_scale}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "static", growth_factor = 2.0 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{growth_factor must exceed 1, backoff_factor lie between 0 and 1}}
// expected-note @+1 {{hint: the defaults are 2 and 0.5}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "dynamic", backoff_factor = 2.0 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{the initial scale does not lie between min_scale and max_scale}}
// expected-note @+1 {{hint: change init_scale or the bound}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "dynamic", max_scale = 16.0 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{'growth_interval' is no option of kind calibrate}}
// expected-note @+1 {{calibrate takes init_scale, steps, headroom}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "calibrate", growth_interval = 3.0 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{steps is a positive 32-bit integer, headroom lies between 1 and 65504}}
// expected-note @+1 {{hint: the defaults are 100 and 4}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "calibrate", headroom = 0.5 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

// 1 / 1e-42 is not an fp32 number, so that every unscaled gradient would be an infinity or NaN.
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{a scale must be a positive fp32 number whose inverse is one, too}}
// expected-note @+1 {{hint: 65536 is the usual initial scale}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "static", init_scale = 1.0e-42 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{growth_interval and hysteresis are positive 32-bit integers}}
// expected-note @+1 {{hint: the defaults are}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "dynamic", hysteresis = 1.5 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{loss scaler of step @main: 'init_scale' is not a finite number}}
// expected-note @+1 {{hint: write init_scale=NUMBER}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "static", init_scale = "large"}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{loss scaler of step @main: 'max_scale' is not a finite number}}
// expected-note @+1 {{hint: write max_scale=NUMBER}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "dynamic", max_scale = 0x7FF0000000000000 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

// The scaler `none` takes no options.
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{'init_scale' is no option of kind none}}
// expected-note @+1 {{hint: static takes init_scale; dynamic also growth_factor, backoff_factor, growth_interval, min_scale, max_scale and hysteresis; calibrate takes init_scale, steps, headroom, backoff_factor, min_scale and max_scale}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "none", init_scale = 2.0 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

// 2^130 is not an fp32 number, and the inverse of 0 is none either.
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{a scale must be a positive fp32 number whose inverse is one, too}}
// expected-note @+1 {{hint: 65536 is the usual initial scale, 1024 a usual static one}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "dynamic", max_scale = 1.4e39 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{a scale must be a positive fp32 number whose inverse is one, too}}
// expected-note @+1 {{hint: 65536 is the usual initial scale}}
train.step @main() -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "dynamic", min_scale = 0.0 : f64}} {
  %seed = train.seed : tensor<f32>
  train.update @w, %seed : tensor<f32>
  train.yield %seed : tensor<f32>
}
