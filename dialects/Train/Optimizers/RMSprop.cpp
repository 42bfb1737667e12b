//===- RMSprop.cpp - steps divided by the recent size of the gradients --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is torch.optim.RMSprop (Hinton 2012, lecture 6e; centered: Graves 2013, equations 38 to 45):
//   g = gradient + weight_decay * w
//   s = alpha * s + (1 - alpha) * g^2
//   a = alpha * a + (1 - alpha) * g                      (centered only)
//   d = g / (sqrt(centered ? s - a^2 : s) + eps)
//   m = momentum * m + d
//   w = w - lr * m
// Roundings may make s - a^2 negative where a gradient hardly varies. It counts as zero then, where torch gets a NaN.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Optimizers/Registry.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter lr{"lr", 1e-2, 0, INFINITY, "learning rate"},
    alpha{"alpha", 0.99, 0, 1, "decay of the mean square"},
    eps{"eps", 1e-8, 0, INFINITY, "added to the root of the mean square"},
    momentum{"momentum", 0, 0, 1, "how much of the last direction is kept"},
    centered{"centered", 0, 0, 2, "divide by the deviation from the mean gradient"},
    weightDecay{"weight_decay", 0, 0, INFINITY, "L2 penalty, added to the gradient"};
static constexpr const Hyperparameter *hyperparameters[] = {&lr, &alpha, &eps, &momentum, &centered, &weightDecay};

static SmallVector<Slot> slots(const Hyperparameters &hyper, ArrayRef<int64_t>) {
  SmallVector<Slot> names{"square_avg"};
  if (hyper[centered] != 0)
    names.push_back("grad_avg");
  if (hyper[momentum] != 0)
    names.push_back("momentum");
  return names;
}

static Value update(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  double kept = u.hyper[alpha];
  Value g = u.penalizedGradient();
  Value square = b.add(b.mul(u.slots[0], kept), b.mul(b.square(g), 1 - kept));
  u.newSlots[0] = square;
  if (u.hyper[centered] != 0) {
    Value mean = b.add(b.mul(u.slots[1], kept), b.mul(g, 1 - kept));
    u.newSlots[1] = mean;
    square = b.max(b.sub(square, b.square(mean)), 0.0);
  }
  Value direction = b.div(g, b.add(b.sqrt(square), u.hyper[eps]));
  if (u.hyper[momentum] != 0) {
    direction = b.add(b.mul(u.slots.back(), u.hyper[momentum]), direction);
    u.newSlots.back() = direction;
  }
  return b.sub(u.parameter, b.mul(direction, u.lr));
}

const Optimizer optimizers::rmsprop{"rmsprop",
                                    "steps divided by the root of a running mean of squared gradients",
                                    lr,
                                    weightDecay,
                                    hyperparameters,
                                    slots,
                                    nullptr,
                                    update};
