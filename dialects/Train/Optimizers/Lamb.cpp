//===- Lamb.cpp - Adam whose steps are as long as their parameters are large ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is LAMB (You et al. 2019, "Large Batch Optimization for Deep Learning", algorithm 2 with phi(x) = x), where |x|
// is the norm of all elements of x, and t counts this update:
//   m = beta1 * m + (1 - beta1) * gradient
//   v = beta2 * v + (1 - beta2) * gradient^2
//   u = m/(1 - beta1^t) / (sqrt(v)/sqrt(1 - beta2^t) + eps) + weight_decay * w
//   w = w - lr * r * u, where r = |w|/|u|, or 1 where one of them is 0
// torch.optim has none. The defaults of beta1, beta2, eps and weight_decay are the paper's, the learning rate is
// timm's; timm and Apex also clip the norm of all gradients to 1, which is --clip-norm=1 here.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Optimizers/AdamCommon.h"
#include "dialects/Train/Optimizers/TrustRatio.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter lambEps{"eps", 1e-6, 0, INFINITY, "number added to the corrected square root"},
    weightDecay{"weight_decay", 1e-2, 0, INFINITY, "share of a parameter in its step, before the trust ratio"};
static constexpr const Hyperparameter *hyperparameters[] = {&adamLr,  &beta1,       &beta2,
                                                            &lambEps, &alwaysAdapt, &weightDecay};

static Value update(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  Type f32 = b.builder.getF32Type();
  Value denominator = adamMoments(u, u.gradient, b.cast(u.shared[1], f32), u.hyper[lambEps]);
  Value step = b.div(b.div(u.newSlots[0], b.cast(u.shared[0], f32)), denominator);
  if (u.weightDecay != 0)
    step = b.add(step, b.mul(u.parameter, u.weightDecay));
  Value size = u.lr;
  if (hasTrustRatio(u)) {
    Value ofParameter = u.norm(u.parameter), ofStep = u.norm(step);
    size = b.mul(size, trustRatio(u, ofParameter, ofStep, ofParameter, ofStep));
  }
  return b.sub(u.parameter, b.mul(step, size));
}

const Optimizer optimizers::lamb{"lamb",          "Adam whose steps are as long as their parameters are large",
                                 adamLr,          weightDecay,
                                 hyperparameters, adamSlots,
                                 adamShared,      update};
