//===- Lion.cpp - the sign of a momentum -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2):
//   c = beta1 * m + (1 - beta1) * gradient
//   w = w - lr * (sign(c) + weight_decay * w)
//   m = beta2 * m + (1 - beta2) * gradient
// torch.optim has none. The defaults are those of the authors' code; the paper uses a learning rate 3 to 10 times
// smaller, and a weight decay as many times larger, than AdamW's.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Optimizers/Registry.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter lr{"lr", 1e-4, 0, INFINITY, "learning rate"},
    beta1{"beta1", 0.9, 0, 1, "share of the momentum in the direction"},
    beta2{"beta2", 0.99, 0, 1, "decay of the momentum"},
    weightDecay{"weight_decay", 0, 0, INFINITY, "share of a parameter that a step of size lr removes"};
static constexpr const Hyperparameter *hyperparameters[] = {&lr, &beta1, &beta2, &weightDecay};

static SmallVector<Slot> slots(const Hyperparameters &, ArrayRef<int64_t>) { return {"exp_avg"}; }

static Value update(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  auto mixed = [&](double kept) { return b.add(b.mul(u.slots[0], kept), b.mul(u.gradient, 1 - kept)); };
  Value sign = b.create<graph::SignOp>(mixed(u.hyper[beta1]));
  u.newSlots[0] = mixed(u.hyper[beta2]);
  return b.sub(u.decayedParameter(), b.mul(sign, u.lr));
}

const Optimizer optimizers::lion{
    "lion", "the sign of a momentum; decoupled weight decay", lr, weightDecay, hyperparameters, slots, nullptr, update};
