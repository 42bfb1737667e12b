//===- Optimizers.cpp - train.update to arithmetic and assignments ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file has what all optimizers have in common: groups, slots, predication, and averages of parameters. Passes.td
// shows the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/IR/Averages.h"
#include "dialects/Train/IR/Groups.h"
#include "dialects/Train/IR/VariableTable.h"
#include "dialects/Train/Optimizers/Registry.h"
#include "passes/Optimizers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_OPTIMIZERSPASS
#include "passes/Optimizers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

namespace {

class StepExpander {
public:
  /// `decay`: that of the moving averages of the parameters; 0: there are none.
  StepExpander(train::StepOp step, double decay)
      : step(step), decay(decay), variables(step), b(step.getBody().front().getTerminator()),
        optimizer(*step.getOptimizer().getRule()), hyper(step.getOptimizer().getHyperparameters()), groups(step) {}

  void run();

  unsigned numUpdates = 0;
  uint64_t slotBytes = 0;

private:
  Value learningRate(double factor);
  void expand(train::UpdateOp update);
  void average(train::UpdateOp update, train::VariableOp parameter, Value next);
  Value unlessSkipped(train::UpdateOp update, Value before, Value after) {
    return update.getSkip() ? graph::GraphBuilder(b, update.getLoc()).select(update.getSkip(), before, after) : after;
  }

  train::StepOp step;
  double decay;
  train::VariableTable variables;
  OpBuilder b;
  const Optimizer &optimizer;
  Hyperparameters hyper;
  train::Groups groups;
  Value lr;
  DenseMap<uint64_t, Value> scaledRates; // by the bits of the factor
  SmallVector<Value> shared;
};

Value StepExpander::learningRate(double factor) {
  if (factor == 1)
    return lr;
  Value &scaled = scaledRates[llvm::bit_cast<uint64_t>(factor)];
  if (!scaled) {
    // Updates all over the step share this product, so it stands where the learning rate is read.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(lr);
    scaled = graph::GraphBuilder(b, step.getLoc()).mul(lr, factor);
  }
  return scaled;
}

void StepExpander::expand(train::UpdateOp update) {
  Location loc = update.getLoc();
  train::VariableOp parameter = variables.lookup(update.getParameterAttr());
  RankedTensorType f32Type = parameter.getTensorType().clone(b.getF32Type());
  double factor = 1, weightDecay = hyper[optimizer.weightDecay];
  bool exempt = false;
  if (train::GroupAttr group = groups.of(parameter)) {
    factor = group.getLr().getValueAsDouble();
    if (FloatAttr own = group.getWeightDecay()) {
      weightDecay = own.getValueAsDouble();
      exempt = weightDecay == 0;
    }
  }

  graph::GraphBuilder at(b, loc);
  Value stored = train::readVariable(b, loc, parameter);
  UpdateContext context{at,
                        at.cast(stored, b.getF32Type()),
                        at.cast(update.getGradient(), b.getF32Type()),
                        learningRate(factor),
                        weightDecay,
                        exempt,
                        {},
                        {},
                        shared,
                        hyper};
  SmallVector<train::VariableOp> slots;
  for (const Slot &slot : optimizer.slots(hyper, f32Type.getShape())) {
    RankedTensorType type = slot.shape ? f32Type.clone(*slot.shape) : f32Type;
    assert(type.getRank() == f32Type.getRank() && "a slot of another rank");
    slots.push_back(variables.getOrCreateState(step, parameter, slot.name, train::Role::slot, type,
                                               train::FillAttr::get(b.getContext(), 0)));
    context.slots.push_back(train::readVariable(b, loc, slots.back()));
    slotBytes += uint64_t(type.getNumElements()) * sizeof(float);
  }
  context.newSlots.resize(slots.size());

  Value next = optimizer.update(context);
  for (auto [variable, before, after] : llvm::zip_equal(slots, context.slots, context.newSlots))
    train::assignVariable(b, loc, variable, unlessSkipped(update, before, after));
  next = at.cast(next, parameter.getTensorType().getElementType());
  train::assignVariable(b, loc, parameter, unlessSkipped(update, stored, next));
  if (decay > 0)
    average(update, parameter, next);
  update.erase();
  ++numUpdates;
}

/// Moves the average of a parameter towards its next value: ema' = ema + (1 - decay) * (w' - ema) in fp32, as
/// torch.optim.swa_utils.get_ema_multi_avg_fn does. Steps that train the same parameter share its average.
void StepExpander::average(train::UpdateOp update, train::VariableOp parameter, Value next) {
  Location loc = update.getLoc();
  auto of = FlatSymbolRefAttr::get(parameter.getSymNameAttr());
  RankedTensorType type = parameter.getTensorType().clone(b.getF32Type());
  train::VariableOp variable = variables.getOrCreate(parameter.getSymName() + "/ema", train::Role::slot, type,
                                                     train::CopyOfAttr::get(b.getContext(), of), of,
                                                     FlatSymbolRefAttr::get(b.getContext(), train::stateOwner(step)));
  variable->setAttr(train::kAverageAttr, b.getF64FloatAttr(decay));
  graph::GraphBuilder at(b, loc);
  Value before = train::readVariable(b, loc, variable);
  Value after = at.add(before, at.mul(at.sub(at.cast(next, b.getF32Type()), before), 1 - decay));
  train::assignVariable(b, loc, variable, unlessSkipped(update, before, after));
  slotBytes += uint64_t(type.getNumElements()) * sizeof(float);
}

void StepExpander::run() {
  SmallVector<train::UpdateOp> updates(step.getBody().front().getOps<train::UpdateOp>());
  if (updates.empty())
    return;

  Location loc = step.getLoc();
  lr = train::readVariable(
      b, loc, variables.getOrCreateScalar(step, "lr", train::Role::hyper, b.getF32Type(), hyper[optimizer.lr]));
  train::VariableOp counter = variables.getOrCreateScalar(step, "step", train::Role::counter, b.getI64Type(), 0);
  Value count = train::readVariable(b, loc, counter);
  if (optimizer.shared) {
    StepContext context{{b, loc}, step, updates.front().getSkip(), count, hyper};
    shared = optimizer.shared(context);
  }
  Value next = graph::GraphBuilder(b, loc).add(count, 1);
  train::assignVariable(b, loc, counter, unlessSkipped(updates.front(), count, next));
  for (train::UpdateOp update : updates)
    expand(update);
}

class OptimizersPass : public mpc::impl::OptimizersPassBase<OptimizersPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    SmallVector<train::StepOp> steps(getOperation().getOps<train::StepOp>());
    for (train::StepOp step : steps) {
      StepExpander expander(step, ema);
      expander.run();
      if (step.getTrace())
        continue; // a trace form has the same state as the step it traces
      numUpdates += expander.numUpdates;
      slotBytes += expander.slotBytes;
    }
    if (ema > 0)
      evaluateAverages();
  }

private:
  /// Lets the entries that do not train read the average of a parameter instead of the parameter.
  void evaluateAverages() {
    train::VariableTable variables(getOperation());
    getOperation().walk([&](train::ReadOp read) {
      train::VariableOp average =
          variables.lookup(FlatSymbolRefAttr::get(&getContext(), (read.getVariable() + "/ema").str()));
      if (!average || !train::averageDecay(average) || read->getParentOfType<train::StepOp>())
        return;
      OpBuilder b(read);
      graph::GraphBuilder at(b, read.getLoc());
      Value value = train::readVariable(b, read.getLoc(), average);
      read.replaceAllUsesWith(at.cast(value, graph::elementOf(read)));
      read.erase();
    });
  }
};

} // namespace
