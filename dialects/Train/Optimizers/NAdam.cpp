//===- NAdam.cpp - Adam with Nesterov's momentum -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is torch.optim.NAdam (Dozat 2016), where t counts this update:
//   decoupled_weight_decay ? w = w * (1 - lr * weight_decay), g = gradient : g = gradient + weight_decay * w
//   mu(t) = beta1 * (1 - 0.96^(t * momentum_decay) / 2),  p(t) = mu(1) * ... * mu(t)
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g^2
//   n = (1 - mu(t))/(1 - p(t)) * g + mu(t + 1)/(1 - p(t) * mu(t + 1)) * m
//   w = w - lr * n / (sqrt(v)/sqrt(1 - beta2^t) + eps)
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Optimizers/AdamCommon.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter lr{"lr", 2e-3, 0, INFINITY, "learning rate"},
    momentumDecay{"momentum_decay", 4e-3, 0, INFINITY, "how fast the first moment's decay grows to beta1"},
    decoupled{"decoupled_weight_decay", 0, 0, 2, "choice to let the decay shrink the parameter, as in adamw"},
    weightDecay{"weight_decay", 0, 0, INFINITY, "L2 penalty, added to the gradient unless it is decoupled"};
static constexpr const Hyperparameter *hyperparameters[] = {&lr,        &beta1,      &beta2, &eps, &momentumDecay,
                                                            &decoupled, &weightDecay};

/// Returns the factors of g and of m, without lr, and sqrt(1 - beta2^t). They are scalars in f64, as Adam's.
static SmallVector<Value> shared(StepContext &context) {
  const graph::GraphBuilder &b = context.b;
  double decay = std::pow(0.96, context.hyper[momentumDecay]), limit = context.hyper[beta1];
  Value power = context.runningPower("momentum_power", decay);
  // mu(t) = beta1 - beta1/2 * 0.96^(t * momentum_decay)
  Value mu = b.sub(limit, b.mul(power, limit / 2)), next = b.sub(limit, b.mul(power, limit / 2 * decay));
  Value product = context.runningProduct("momentum_product", mu);
  Value ofGradient = b.div(b.sub(1, mu), b.sub(1, product));
  Value ofMoment = b.div(next, b.sub(1, b.mul(product, next)));
  return {ofGradient, ofMoment, secondCorrection(context)};
}

static Value update(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  Type f32 = b.builder.getF32Type();
  const bool shrinks = u.hyper[decoupled] != 0;
  Value parameter = shrinks ? u.decayedParameter() : u.parameter, g = shrinks ? u.gradient : u.penalizedGradient();
  Value denominator = adamMoments(u, g, b.cast(u.shared[2], f32), u.hyper[eps]);
  Value direction = b.add(b.mul(g, b.cast(u.shared[0], f32)), b.mul(u.newSlots[0], b.cast(u.shared[1], f32)));
  return b.sub(parameter, b.mul(b.div(direction, denominator), u.lr));
}

const Optimizer optimizers::nadam{
    "nadam", "Adam with Nesterov's momentum", lr, weightDecay, hyperparameters, adamSlots, shared, update};
