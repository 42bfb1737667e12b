//===- Adagrad.cpp - steps that shrink with the gradients seen so far ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is torch.optim.Adagrad (Duchi et al. 2011), with lr_decay = 0 and an accumulator that starts at zero:
//   g = gradient + weight_decay * w
//   s = s + g^2
//   w = w - lr * g / (sqrt(s) + eps)
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Optimizers/Registry.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter lr{"lr", 1e-2, 0, INFINITY, "learning rate"},
    eps{"eps", 1e-10, 0, INFINITY, "added to the root of the sum"},
    weightDecay{"weight_decay", 0, 0, INFINITY, "L2 penalty, added to the gradient"};
static constexpr const Hyperparameter *hyperparameters[] = {&lr, &eps, &weightDecay};

static SmallVector<Slot> slots(const Hyperparameters &, ArrayRef<int64_t>) { return {"sum"}; }

static Value update(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  Value g = u.penalizedGradient();
  Value sum = b.add(u.slots[0], b.square(g));
  u.newSlots[0] = sum;
  Value divisor = b.add(b.sqrt(sum), u.hyper[eps]);
  return b.sub(u.parameter, b.div(b.mul(g, u.lr), divisor));
}

const Optimizer optimizers::adagrad{"adagrad",
                                    "steps divided by the root of the sum of squared gradients",
                                    lr,
                                    weightDecay,
                                    hyperparameters,
                                    slots,
                                    nullptr,
                                    update};
