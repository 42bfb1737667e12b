//===- Adam.cpp - adaptive moments -----------------------------------------------------------===//
//
// This is torch.optim.Adam (Kingma & Ba 2015, algorithm 1), where t counts this update:
//   g = gradient + weight_decay * w
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g^2
//   w = w - lr/(1 - beta1^t) * m / (sqrt(v)/sqrt(1 - beta2^t) + eps)
// ONNX's Adam differs: it adds eps to the uncorrected square root.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Train/Optimizers/AdamCommon.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter weightDecay{"weight_decay", 0, 0, INFINITY, "L2 penalty, added to the gradient"};
static constexpr const Hyperparameter *hyperparameters[] = {&adamLr, &beta1, &beta2, &eps, &weightDecay};

SmallVector<StringRef> optimizers::adamSlots(const Hyperparameters &) {
  return {"exp_avg", "exp_avg_sq"};
}

SmallVector<Value> optimizers::adamShared(StepContext &context) {
  OpBuilder &b = context.b;
  Location loc = context.step.getLoc();
  auto correction = [&](StringRef suffix, const Hyperparameter &beta) -> Value {
    Value power = context.runningPower(suffix, context.hyper[beta]);
    return graph::SubOp::create(b, loc, graph::scalar(b, loc, b.getF64Type(), 1), power);
  };
  Value first = correction("beta1_power", beta1);
  Value second = graph::SqrtOp::create(b, loc, correction("beta2_power", beta2));
  return {first, second};
}

Value optimizers::adamStep(UpdateContext &u, Value parameter, Value gradient) {
  Type f32 = u.b.getF32Type(), f64 = u.b.getF64Type();
  double first = u.hyper[beta1], second = u.hyper[beta2];
  Value m = u.add(u.mul(u.slots[0], first), u.mul(gradient, 1 - first));
  Value v = u.add(u.mul(u.slots[1], second), u.mul(u.mul(gradient, gradient), 1 - second));
  u.newSlots[0] = m;
  u.newSlots[1] = v;
  Value stepSize = graph::castTo(u.b, u.loc, u.div(graph::castTo(u.b, u.loc, u.lr, f64), u.shared[0]), f32);
  Value root = u.div(u.sqrt(v), graph::castTo(u.b, u.loc, u.shared[1], f32));
  Value denominator = u.add(root, u.constant(root, u.hyper[eps]));
  return u.sub(parameter, u.mul(u.div(m, denominator), stepSize));
}

static Value update(UpdateContext &u) {
  Value g = u.gradient;
  if (u.weightDecay != 0)
    g = u.add(g, u.mul(u.parameter, u.weightDecay));
  return adamStep(u, u.parameter, g);
}

const Optimizer optimizers::adam{
    "adam", "adaptive moments; weight decay as L2 penalty", adamLr, weightDecay, hyperparameters, adamSlots, adamShared, update};
