//===- Sgd.cpp - stochastic gradient descent --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is torch.optim.SGD:
//   g = gradient + weight_decay * w
//   m = momentum * m + (1 - dampening) * g      (first update: m = g)
//   w = w - lr * (nesterov ? g + momentum * m : m)
//
//===----------------------------------------------------------------------===//
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/Optimizers/Registry.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter lr{"lr", 0.01, 0, INFINITY, "learning rate"},
    momentum{"momentum", 0, 0, 1, "how much of the last direction is kept"},
    dampening{"dampening", 0, -INFINITY, INFINITY, "how much less of the gradient enters the momentum"},
    nesterov{"nesterov", 0, 0, 2, "look ahead along the momentum"},
    weightDecay{"weight_decay", 0, 0, INFINITY, "L2 penalty, added to the gradient"};
static constexpr const Hyperparameter *hyperparameters[] = {&lr, &momentum, &dampening, &nesterov, &weightDecay};

static LogicalResult verify(train::EmitError emitError, const Hyperparameters &hyper) {
  if (hyper[nesterov] != 0 && (hyper[momentum] == 0 || hyper[dampening] != 0))
    return emitErrorWithHint(emitError, "nesterov needs a momentum and no dampening", "set momentum=0.9");
  return success();
}

static SmallVector<Slot> slots(const Hyperparameters &hyper, ArrayRef<int64_t>) {
  if (hyper[momentum] == 0)
    return {};
  return {"momentum"};
}

/// Returns the share of the gradient that enters the momentum: 1 - dampening, but all of it in the first
/// update. Without dampening the first update is not special, because the momentum starts at zero.
static SmallVector<Value> shared(StepContext &context) {
  if (context.hyper[momentum] == 0 || context.hyper[dampening] == 0)
    return {};
  const graph::GraphBuilder &b = context.b;
  Value first = b.compare(graph::Predicate::eq, context.count, 0);
  Value later = b.constant(b.builder.getF32Type(), 1 - context.hyper[dampening]);
  return {b.select(first, 1, later)};
}

static Value update(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  Value g = u.penalizedGradient();
  double kept = u.hyper[momentum];
  if (kept != 0) {
    Value entering = u.shared.empty() ? g : b.mul(g, u.shared[0]);
    Value m = b.add(b.mul(u.slots[0], kept), entering);
    u.newSlots[0] = m;
    g = u.hyper[nesterov] != 0 ? b.add(g, b.mul(m, kept)) : m;
  }
  return b.sub(u.parameter, b.mul(g, u.lr));
}

const Optimizer optimizers::sgd{
    "sgd", "stochastic gradient descent with momentum", lr, weightDecay, hyperparameters, slots, shared, update,
    verify};
