//===- AdamW.cpp - Adam with decoupled weight decay ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is torch.optim.AdamW (Loshchilov & Hutter 2019, algorithm 2):
// first w = w * (1 - lr * weight_decay), then Adam's step follows with the gradient as it is.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Optimizers/AdamCommon.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter weightDecay{"weight_decay", 1e-2, 0, INFINITY,
                                            "share of a parameter that a step of size lr removes"};
static constexpr const Hyperparameter *hyperparameters[] = {&adamLr, &beta1, &beta2, &eps, &weightDecay};

static Value update(UpdateContext &u) {
  Value w = u.parameter;
  if (u.weightDecay != 0) {
    const graph::GraphBuilder &b = u.b;
    Value kept = b.sub(1, b.mul(b.cast(u.lr, b.builder.getF64Type()), u.weightDecay));
    w = b.mul(w, b.cast(kept, b.builder.getF32Type()));
  }
  return adamStep(u, w, u.gradient);
}

const Optimizer optimizers::adamw{
    "adamw", "Adam with decoupled weight decay", adamLr, weightDecay, hyperparameters, adamSlots, adamShared, update};
