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
