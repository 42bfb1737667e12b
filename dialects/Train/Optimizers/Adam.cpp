//===- Adam.cpp - adaptive moments -----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is torch.optim.Adam (Kingma & Ba 2015, algorithm 1), where t counts this update:
//   g = gradient + weight_decay * w
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g^2
//   w = w - lr/(1 - beta1^t) * m / (sqrt(v)/sqrt(1 - beta2^t) + eps)
// ONNX's Adam differs: it adds eps to the uncorrected square root.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Optimizers/AdamCommon.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter weightDecay{"weight_decay", 0, 0, INFINITY, "L2 penalty, added to the gradient"};
static constexpr const Hyperparameter *hyperparameters[] = {&adamLr, &beta1, &beta2, &eps, &weightDecay};

SmallVector<Slot> optimizers::adamSlots(const Hyperparameters &, ArrayRef<int64_t>) {
  return {"exp_avg", "exp_avg_sq"};
}

Value optimizers::secondCorrection(StepContext &context) {
  return context.b.sqrt(context.b.sub(1, context.runningPower("beta2_power", context.hyper[beta2])));
}

SmallVector<Value> optimizers::adamShared(StepContext &context) {
  Value first = context.b.sub(1, context.runningPower("beta1_power", context.hyper[beta1]));
  return {first, secondCorrection(context)};
}

Value optimizers::adamMoments(UpdateContext &u, Value gradient, Value correction, double eps) {
  const graph::GraphBuilder &b = u.b;
  double first = u.hyper[beta1], second = u.hyper[beta2];
  Value entering = b.mul(gradient, 1 - first), m = b.add(b.mul(u.slots[0], first), entering);
  Value enteringSquare = b.mul(b.square(gradient), 1 - second), v = b.add(b.mul(u.slots[1], second), enteringSquare);
  u.newSlots[0] = m;
  u.newSlots[1] = v;
  return b.add(b.div(b.sqrt(v), correction), eps);
}

Value optimizers::adamStep(UpdateContext &u, Value parameter, Value gradient) {
  const graph::GraphBuilder &b = u.b;
  Type f32 = b.builder.getF32Type(), f64 = b.builder.getF64Type();
  Value stepSize = b.cast(b.div(b.cast(u.lr, f64), u.shared[0]), f32);
  Value denominator = adamMoments(u, gradient, b.cast(u.shared[1], f32), u.hyper[eps]);
  return b.sub(parameter, b.mul(b.div(u.newSlots[0], denominator), stepSize));
}

static Value update(UpdateContext &u) { return adamStep(u, u.parameter, u.penalizedGradient()); }

const Optimizer optimizers::adam{
    "adam", "adaptive moments; weight decay as L2 penalty", adamLr, weightDecay, hyperparameters, adamSlots, adamShared,
    update};
