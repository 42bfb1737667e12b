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

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{optimizer sgd of step @main: 'lr' is no number, which does not lie in [0, inf)}}
// expected-note @+1 {{hint: lr is the learning rate; default 0.01}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd", lr = "fast"}, scaler = {kind = "none"}} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{optimizer sgd of step @main: 'lr' is nan, which does not lie in [0, inf)}}
// expected-note @+1 {{hint: lr is the learning rate; default 0.01}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd", lr = 0x7FF8000000000000 : f64}, scaler = {kind = "none"}} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

// The second of two betas is checked too.
train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{optimizer adam of step @main: 'beta2' is 1.5, which does not lie in [0, 1)}}
// expected-note @+1 {{hint: beta2 is the decay of the second moment; default 0.999}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "adam", betas = [0.5, 1.5]}, scaler = {kind = "none"}} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{a parameter group needs a `match`}}
// expected-note @+1 {{hint: write REGEX:lr=FACTOR,weight_decay=VALUE}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "none"}, groups = [{lr = 2.0 : f64}]} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{'(' is not a regular expression: parentheses not balanced}}
// expected-note @+1 {{hint: write a POSIX extended regular expression, as in '^conv1\.'}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "none"}, groups = [{match = "(", lr = 2.0 : f64}]} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}

// -----

train.variable @w parameter : tensor<f32> = #train.fill<1.0>
// expected-error @+2 {{parameter group 'w': cannot set 'weight_decay' so}}
// expected-note @+1 {{hint: a group sets lr (a factor) and weight_decay, not negative}}
train.step @main(%g: tensor<f32>) -> tensor<f32> attributes {parameters = [@w], optimizer = {name = "sgd"}, scaler = {kind = "none"}, groups = [{match = "w", weight_decay = -1.0 : f64}]} {
  train.update @w, %g : tensor<f32>
  train.yield %g : tensor<f32>
}
