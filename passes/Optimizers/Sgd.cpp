//===- Sgd.cpp - stochastic gradient descent --------------------------------------------===//
//
// This is torch.optim.SGD:
//   g = gradient + weight_decay * w
//   m = momentum * m + (1 - dampening) * g      (first update: m = g)
//   w = w - lr * (nesterov ? g + momentum * m : m)
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Optimizers/Registry.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

static constexpr Hyperparameter hyperparameters[] = {
    {"lr", 0.01, 0, INFINITY, "learning rate"},
    {"momentum", 0, 0, 1, "how much of the last direction is kept"},
    {"dampening", 0, -INFINITY, INFINITY, "how much less of the gradient enters the momentum"},
    {"nesterov", 0, 0, 2, "look ahead along the momentum"},
    {"weight_decay", 0, 0, INFINITY, "L2 penalty, added to the gradient"},
};

static SmallVector<StringRef> slots(const llvm::StringMap<double> &hyper) {
  if (hyper.at("momentum") == 0)
    return {};
  return {"momentum"};
}

/// Returns the share of the gradient that enters the momentum: 1 - dampening, but all of it in the first
/// update. Without dampening the first update is not special, because the momentum starts at zero.
static SmallVector<Value> shared(StepContext &context) {
  if (context.get("momentum") == 0 || context.get("dampening") == 0)
    return {};
  OpBuilder &b = context.b;
  Location loc = context.step.getLoc();
  Value first = graph::CompareOp::create(b, loc, graph::Predicate::eq, context.count,
                                         graph::scalar(b, loc, b.getI64Type(), 0));
  Value share = graph::SelectOp::create(b, loc, first, graph::scalar(b, loc, b.getF32Type(), 1),
                                        graph::scalar(b, loc, b.getF32Type(), 1 - context.get("dampening")));
  return {share};
}

static Value update(UpdateContext &u) {
  Value g = u.gradient;
  double momentum = u.get("momentum");
  if (u.get("weight_decay") != 0)
    g = u.add(g, u.mul(u.parameter, u.get("weight_decay")));
  if (momentum != 0) {
    Value entering = u.shared.empty() ? g : u.mul(g, u.shared[0]);
    Value m = u.add(u.mul(u.slots[0], momentum), entering);
    u.newSlots[0] = m;
    g = u.get("nesterov") != 0 ? u.add(g, u.mul(m, momentum)) : m;
  }
  return u.sub(u.parameter, u.mul(g, u.lr));
}

const Optimizer optimizers::sgd{
    "sgd", "stochastic gradient descent with momentum", hyperparameters, slots, shared, update};
