//===- AdamW.cpp - Adam with decoupled weight decay ---------------------------------------------===//
//
// This is torch.optim.AdamW (Loshchilov & Hutter 2019, algorithm 2):
// first w = w * (1 - lr * weight_decay), then Adam's step follows with the gradient as it is.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Optimizers/AdamCommon.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter hyperparameters[] = {
    {"lr", 1e-3, 0, INFINITY, "learning rate"},
    {"beta1", 0.9, 0, 1, "decay of the first moment"},
    {"beta2", 0.999, 0, 1, "decay of the second moment"},
    {"eps", 1e-8, 0, INFINITY, "added to the corrected square root"},
    {"weight_decay", 1e-2, 0, INFINITY, "share of a parameter that a step of size lr removes"},
};

static Value update(UpdateContext &u) {
  Value w = u.parameter;
  if (double decay = u.get("weight_decay")) {
    Value wide = graph::castTo(u.b, u.loc, u.lr, u.b.getF64Type());
    Value kept = u.sub(u.constant(wide, 1), u.mul(wide, decay));
    w = u.mul(w, graph::castTo(u.b, u.loc, kept, u.b.getF32Type()));
  }
  return adamStep(u, w, u.gradient);
}

const Optimizer optimizers::adamw{
    "adamw", "Adam with decoupled weight decay", hyperparameters, adamSlots, adamShared, update};
