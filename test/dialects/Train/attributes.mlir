// RUN: mpc-opt %s | mpc-opt | FileCheck %s --strict-whitespace

// Optimizers, loss scalers and parameter groups print as they parse, but for the order of their numbers and for numbers that are their defaults.
train.variable @w parameter : tensor<f32> = #train.fill<1.0>

// CHECK: train.step @sgd
// CHECK-SAME: optimizer = #train.optimizer<sgd>, parameters = [@w], scaler = #train.scaler<none>
train.step @sgd() attributes {optimizer = #train.optimizer<sgd>, parameters = [@w], scaler = #train.scaler<none>} {
  train.yield
}

// Numbers are whole or decimal, and they have the fewest digits that are read back as the same double.
// CHECK: train.step @numbers
// CHECK-SAME: optimizer = #train.optimizer<sgd, lr = 2, momentum = 0.1, dampening = -0.5, weight_decay = 1.0e-10>
// CHECK-SAME: scaler = #train.scaler<static, init_scale = 1024>
train.step @numbers() attributes {optimizer = #train.optimizer<sgd, weight_decay = 1.0e-10, dampening = -0.5, momentum = 1.0e-1, lr = 2.0 : f64>,
                                  parameters = [@w], scaler = #train.scaler<static, init_scale = 1024.0>} {
  train.yield
}

// CHECK: train.step @adam
// CHECK-SAME: groups = [#train.group<"\\.bias$", lr = 2, weight_decay = 0>, #train.group<".*", lr = 0>, #train.group<"w">, #train.group<"@norms,@biases", weight_decay = 0>]
// CHECK-SAME: optimizer = #train.optimizer<adam, beta1 = 0.30000000000000004>
// CHECK-SAME: scaler = #train.scaler<dynamic, growth_interval = 7, min_scale = 1, max_scale = 16777216, hysteresis = 2>
train.step @adam() attributes {groups = [#train.group<"\\.bias$", weight_decay = 0.0, lr = 2>, #train.group<".*", lr = 0>, #train.group<"w", lr = 1>, #train.group<"@norms,@biases", weight_decay = 0.0>],
                               optimizer = #train.optimizer<adam, beta1 = 0.30000000000000004, beta2 = 0.999>, parameters = [@w],
                               scaler = #train.scaler<dynamic, hysteresis = 2, growth_interval = 7.0, max_scale = 16777216, min_scale = 1, init_scale = 65536>} {
  train.yield
}

// The largest power of two that is a scale has more digits than an integer may have.
// CHECK: train.step @calibrated
// CHECK-SAME: optimizer = #train.optimizer<adamw, weight_decay = 0>
// CHECK-SAME: scaler = #train.scaler<calibrate, backoff_factor = 0.25, max_scale = 8.507059173023462e+37, steps = 7, headroom = 2.5>
train.step @calibrated() attributes {optimizer = #train.optimizer<adamw, weight_decay = 0>, parameters = [@w],
                                     scaler = #train.scaler<calibrate, init_scale = 1024, backoff_factor = 0.25, max_scale = 8.507059173023462e+37, steps = 7, headroom = 2.5>} {
  train.yield
}

// One space follows a variable's name.
// CHECK: train.variable @"w/momentum" slot : tensor<f32> = #train.fill<0.000000e+00 : f64> {of = @w, step = @sgd}
train.variable @"w/momentum" slot : tensor<f32> = #train.fill<0.0> {of = @w, step = @sgd}
