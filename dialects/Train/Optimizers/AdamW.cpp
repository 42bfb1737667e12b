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

static Value update(UpdateContext &u) { return adamStep(u, u.decayedParameter(), u.gradient); }

const Optimizer optimizers::adamw{
    "adamw", "Adam with decoupled weight decay", adamLr, weightDecay, hyperparameters, adamSlots, adamShared, update};
