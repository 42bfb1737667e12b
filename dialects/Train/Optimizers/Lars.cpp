//===- Lars.cpp - SGD whose steps are as long as their parameters are large -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is LARS (You, Gitman and Ginsburg 2017, "Large Batch Training of Convolutional Networks", algorithm 1), where
// |x| is the norm of all elements of x:
//   r = trust_coefficient * |w| / (|gradient| + weight_decay * |w| + eps)      (r = 1 where |w| or |gradient| is 0)
//   g = r * (gradient + weight_decay * w)
//   m = momentum * m + g
//   w = w - lr * (nesterov ? g + momentum * m : m)
// torch.optim has none. The learning rate is outside of the momentum, as in timm and in torch's SGD; the paper has it
// inside, which differs only while the rate changes. The default momentum is the paper's, all others are timm's.
//
//===----------------------------------------------------------------------===//
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/Optimizers/TrustRatio.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter lr{"lr", 1, 0, INFINITY, "learning rate"},
    momentum{"momentum", 0.9, 0, 1, "how much of the last direction is kept"},
    nesterov{"nesterov", 0, 0, 2, "look ahead along the momentum"},
    trustCoefficient{"trust_coefficient", 1e-3, 0, INFINITY, "length of a step of size lr per norm of the parameter"},
    eps{"eps", 1e-8, 0, INFINITY, "number added to the norms that divide the parameter's norm"},
    weightDecay{"weight_decay", 0, 0, INFINITY, "L2 penalty, added to the gradient"};
static constexpr const Hyperparameter *hyperparameters[] = {&lr,  &momentum,    &nesterov,   &trustCoefficient,
                                                            &eps, &alwaysAdapt, &weightDecay};

static LogicalResult verify(train::EmitError emitError, const Hyperparameters &hyper) {
  if (hyper[nesterov] != 0 && hyper[momentum] == 0)
    return emitErrorWithHint(emitError, "nesterov needs a momentum", "set momentum=0.9");
  return success();
}

static SmallVector<Slot> slots(const Hyperparameters &hyper, ArrayRef<int64_t>) {
  if (hyper[momentum] == 0)
    return {};
  return {"momentum"};
}

static Value ratio(const UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  Value ofParameter = u.norm(u.parameter), ofGradient = u.norm(u.gradient), divisor = ofGradient;
  if (u.weightDecay != 0)
    divisor = b.add(divisor, b.mul(ofParameter, u.weightDecay));
  divisor = b.add(divisor, u.hyper[eps]);
  return trustRatio(u, ofParameter, ofGradient, b.mul(ofParameter, u.hyper[trustCoefficient]), divisor);
}

static Value update(UpdateContext &u) {
  const graph::GraphBuilder &b = u.b;
  Value g = u.penalizedGradient();
  if (hasTrustRatio(u))
    g = b.mul(g, ratio(u));
  if (double kept = u.hyper[momentum]) {
    Value m = b.add(b.mul(u.slots[0], kept), g);
    u.newSlots[0] = m;
    g = u.hyper[nesterov] != 0 ? b.add(g, b.mul(m, kept)) : m;
  }
  return b.sub(u.parameter, b.mul(g, u.lr));
}

const Optimizer optimizers::lars{"lars",
                                 "SGD whose steps are as long as their parameters are large",
                                 lr,
                                 weightDecay,
                                 hyperparameters,
                                 slots,
                                 nullptr,
                                 update,
                                 verify};
