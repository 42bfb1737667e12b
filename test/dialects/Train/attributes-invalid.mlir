// RUN: mpc-opt %s --split-input-file --verify-diagnostics

// expected-error @+2 {{there is no optimizer 'sgdd'}}
// expected-note @+1 {{hint: did you mean 'sgd'? the optimizers are sgd (lr=0.01, momentum=0, dampening=0, nesterov=0, weight_decay=0); adam (lr=0.001, beta1=0.9}}
func.func private @f() attributes {a = #train.optimizer<sgdd>}

// -----
// expected-error @+2 {{optimizer adam: no hyperparameter 'momentum'}}
// expected-note @+1 {{hint: the optimizers are}}
func.func private @f() attributes {a = #train.optimizer<adam, momentum = 0.9>}

// -----
// expected-error @+2 {{'beta1' is 1, which does not lie in [0, 1)}}
// expected-note @+1 {{hint: beta1 is the decay of the first moment; default 0.9}}
func.func private @f() attributes {a = #train.optimizer<adam, beta1 = 1.0>}

// -----
// expected-error @+2 {{nesterov needs a momentum and no dampening}}
// expected-note @+1 {{hint: set momentum=0.9}}
func.func private @f() attributes {a = #train.optimizer<sgd, nesterov = 1>}

// -----
// expected-error @+2 {{nesterov needs a momentum}}
// expected-note @+1 {{hint: set momentum=0.9}}
func.func private @f() attributes {a = #train.optimizer<lars, nesterov = 1, momentum = 0>}

// -----
// expected-error @+2 {{parameter group 'w': cannot set 'lr' so}}
// expected-note @+1 {{hint: a group sets lr (a factor)}}
func.func private @f() attributes {a = #train.group<"w", lr = -2>}

// -----
// expected-error @+2 {{optimizer sgd: 'lr' is no number, which does not lie in [0, inf)}}
// expected-note @+1 {{hint: lr is the learning rate; default 0.01}}
func.func private @f() attributes {a = #train.optimizer<sgd, lr = "fast">}

// -----
// expected-error @+2 {{optimizer sgd: 'lr' is nan, which does not lie in [0, inf)}}
// expected-note @+1 {{hint: lr is the learning rate; default 0.01}}
func.func private @f() attributes {a = #train.optimizer<sgd, lr = 0x7FF8000000000000 : f64>}

// -----
// The second of two betas is checked too.
// expected-error @+2 {{optimizer adam: 'beta2' is 1.5, which does not lie in [0, 1)}}
// expected-note @+1 {{hint: beta2 is the decay of the second moment; default 0.999}}
func.func private @f() attributes {a = #train.optimizer<adam, beta1 = 0.5, beta2 = 1.5>}

// -----
// expected-error @+2 {{'(' is not a regular expression: parentheses not balanced}}
// expected-note @+1 {{hint: write a POSIX extended regular expression, as in '^conv1\.'}}
func.func private @f() attributes {a = #train.group<"(", lr = 2.0>}

// -----
// expected-error @+2 {{parameter group 'w': cannot set 'weight_decay' so}}
// expected-note @+1 {{hint: a group sets lr (a factor) and weight_decay, not negative}}
func.func private @f() attributes {a = #train.group<"w", weight_decay = -1.0>}

// -----
// expected-error @+2 {{loss scaler: 'sometimes' is no kind}}
// expected-note @+1 {{hint: none, static, dynamic or calibrate}}
func.func private @f() attributes {a = #train.scaler<sometimes>}

// -----
// expected-error @+2 {{'growth_factor' is no option of kind static}}
// expected-note @+1 {{hint: static takes init_scale}}
func.func private @f() attributes {a = #train.scaler<static, growth_factor = 2.0>}

// -----
// expected-error @+2 {{growth_factor must exceed 1, backoff_factor lie between 0 and 1}}
// expected-note @+1 {{hint: the defaults are 2 and 0.5}}
func.func private @f() attributes {a = #train.scaler<dynamic, backoff_factor = 2.0>}

// -----
// expected-error @+2 {{the initial scale does not lie between min_scale and max_scale}}
// expected-note @+1 {{hint: change init_scale or the bound}}
func.func private @f() attributes {a = #train.scaler<dynamic, max_scale = 16.0>}

// -----
// expected-error @+2 {{'growth_interval' is no option of kind calibrate}}
// expected-note @+1 {{calibrate takes init_scale, backoff_factor, min_scale, max_scale, steps, headroom}}
func.func private @f() attributes {a = #train.scaler<calibrate, growth_interval = 3.0>}

// -----
// expected-error @+2 {{steps is a positive 32-bit integer, headroom lies between 1 and 65504}}
// expected-note @+1 {{hint: the defaults are 100 and 4}}
func.func private @f() attributes {a = #train.scaler<calibrate, headroom = 0.5>}

// -----
// 1 / 1e-42 is not an fp32 number, so that every unscaled gradient would be an infinity or NaN.
// expected-error @+2 {{a scale must be a positive fp32 number whose inverse is one, too}}
// expected-note @+1 {{hint: 65536 is the usual initial scale}}
func.func private @f() attributes {a = #train.scaler<static, init_scale = 1.0e-42>}

// -----
// expected-error @+2 {{growth_interval and hysteresis are positive 32-bit integers}}
// expected-note @+1 {{hint: the defaults are}}
func.func private @f() attributes {a = #train.scaler<dynamic, hysteresis = 1.5>}

// -----
// expected-error @+2 {{loss scaler: 'init_scale' is not a finite number}}
// expected-note @+1 {{hint: write init_scale=NUMBER}}
func.func private @f() attributes {a = #train.scaler<static, init_scale = "large">}

// -----
// expected-error @+2 {{loss scaler: 'max_scale' is not a finite number}}
// expected-note @+1 {{hint: write max_scale=NUMBER}}
func.func private @f() attributes {a = #train.scaler<dynamic, max_scale = 0x7FF0000000000000 : f64>}

// -----
// The scaler `none` takes no options.
// expected-error @+2 {{'init_scale' is no option of kind none}}
// expected-note @+1 {{hint: static takes init_scale; dynamic takes init_scale, growth_factor, backoff_factor, growth_interval, min_scale, max_scale, hysteresis; calibrate takes init_scale, backoff_factor, min_scale, max_scale, steps, headroom}}
func.func private @f() attributes {a = #train.scaler<none, init_scale = 2.0>}

// -----
// 2^130 is not an fp32 number, and the inverse of 0 is none either.
// expected-error @+2 {{a scale must be a positive fp32 number whose inverse is one, too}}
// expected-note @+1 {{hint: 65536 is the usual initial scale, 1024 a usual static one}}
func.func private @f() attributes {a = #train.scaler<dynamic, max_scale = 1.4e39>}

// -----
// expected-error @+2 {{a scale must be a positive fp32 number whose inverse is one, too}}
// expected-note @+1 {{hint: 65536 is the usual initial scale}}
func.func private @f() attributes {a = #train.scaler<dynamic, min_scale = 0.0>}

// -----
// expected-error @+2 {{'speed' of a parameter group is not a known number}}
// expected-note @+1 {{hint: a group sets lr (a factor) and weight_decay}}
func.func private @f() attributes {a = #train.group<"w", speed = 2>}

// -----
// expected-error @+2 {{'lr' of a parameter group is not a known number}}
// expected-note @+1 {{hint: a group sets lr (a factor) and weight_decay}}
func.func private @f() attributes {a = #train.group<"w", lr = true>}

// -----
// expected-error @+1 {{expected string}}
func.func private @f() attributes {a = #train.group<lr = 2>}

// -----
// expected-error @+2 {{'momentum' is given twice}}
// expected-note @+1 {{hint: keep one of them}}
func.func private @f() attributes {a = #train.optimizer<sgd, momentum = 0.5, momentum = 0.9>}

// -----
// expected-error @+1 {{expected '>'}}
func.func private @f() attributes {a = #train.scaler<dynamic init_scale = 4>}

// -----
// expected-error @+1 {{attribute 'optimizer' failed to satisfy constraint: an optimizer and its hyperparameters}}
train.step @main() attributes {optimizer = {name = "sgd"}, parameters = [], scaler = #train.scaler<none>} {
  train.yield
}

// -----
// expected-error @+1 {{attribute 'scaler' failed to satisfy constraint: a loss scaler and its options}}
train.step @main() attributes {optimizer = #train.optimizer<sgd>, parameters = [], scaler = "none"} {
  train.yield
}

// -----
// expected-error @+1 {{'train.step' op attribute 'clip_norm' failed to satisfy constraint: 64-bit float attribute}}
train.step @main() attributes {clip_norm = 1, optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>} {
  train.yield
}

// -----
// expected-error @+1 {{attribute 'groups' failed to satisfy constraint: parameter groups}}
train.step @main() attributes {groups = ["w"], optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>} {
  train.yield
}

// -----
// expected-error @+2 {{'@norm' is no kind of parameters}}
// expected-note @+1 {{hint: the kinds are @norms, @biases, @embeddings; a regular expression stands alone}}
func.func private @f() attributes {a = #train.group<"@norm", lr = 2>}

// -----
// expected-error @+2 {{'bias$' is no kind of parameters}}
// expected-note @+1 {{hint: the kinds are}}
func.func private @f() attributes {a = #train.group<"@norms,bias$", lr = 2>}

// -----
// expected-error @+2 {{'' is no kind of parameters}}
// expected-note @+1 {{hint: the kinds are}}
func.func private @f() attributes {a = #train.group<"@norms,", lr = 2>}
