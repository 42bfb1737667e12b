// RUN: mpc-opt %s --split-input-file --verify-diagnostics --mpc-optimizers

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{there is no optimizer 'sgdd'}}
// expected-note @+1 {{hint: the optimizers are sgd (lr=0.01, momentum=0, dampening=0, nesterov=0, weight_decay=0); adam (lr=0.001, beta1=0.9}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgdd"}, scaler = {kind = "none"}} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{optimizer adam of step @main: no hyperparameter 'momentum'}}
// expected-note @+1 {{hint: the optimizers are}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "adam", momentum = 0.9 : f64}, scaler = {kind = "none"}} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{'beta1' is 1, which does not lie in [0, 1)}}
// expected-note @+1 {{hint: beta1 is the decay of the first moment; default 0.9}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "adam", beta1 = 1.0 : f64}, scaler = {kind = "none"}} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{nesterov needs a momentum and no dampening}}
// expected-note @+1 {{hint: set momentum=0.9}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd", nesterov = true}, scaler = {kind = "none"}} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{parameter group 'w': cannot set 'lr' so}}
// expected-note @+1 {{hint: a group sets lr (a factor)}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "none"}, groups = [{match = "w", lr = true}]} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}
