//===- Optimizers.cpp - train.update to arithmetic and assignments ---------------------------------===//
//
// This file has what all optimizers have in common: hyperparameters, groups, slots, predication. Passes.td shows the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Attributes.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Pattern.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Optimizers/Passes.h"
#include "passes/Optimizers/Registry.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace mpc {
#define GEN_PASS_DEF_OPTIMIZERSPASS
#include "passes/Optimizers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

namespace {

std::string describe(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}
/// Returns the range that a hyperparameter may lie in: "[0, 1)".
std::string describeRange(const Hyperparameter &h) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (std::isinf(h.least) ? '(' : '[') << llvm::format("%g, %g)", h.least, h.below);
  return text;
}

/// A parameter group of the step.
struct Group {
  llvm::Regex match;
  double lr = 1;
  std::optional<double> weightDecay;
};

class StepExpander {
public:
  explicit StepExpander(train::StepOp step) : step(step), variables(step), b(step.getBody().front().getTerminator()) {}

  LogicalResult run();

  unsigned numUpdates = 0;
  uint64_t slotBytes = 0;

private:
  LogicalResult readOptimizer();
  LogicalResult setHyperparameter(StringRef key, Attribute value);
  LogicalResult readGroups();
  Value learningRate(double factor);
  void expand(train::UpdateOp update);
  Value unlessSkipped(train::UpdateOp update, Value before, Value after) {
    return update.getSkip()
               ? Value(graph::SelectOp::create(b, update.getLoc(), update.getSkip(), before, after))
               : after;
  }

  train::StepOp step;
  train::VariableTable variables;
  OpBuilder b;
  const Optimizer *optimizer = nullptr;
  llvm::StringMap<double> hyper;
  SmallVector<Group> groups;
  Value lr;
  DenseMap<uint64_t, Value> scaledRates; // by the bits of the factor
  SmallVector<Value> shared;
};

LogicalResult StepExpander::setHyperparameter(StringRef key, Attribute value) {
  auto fail = [&](const Twine &message, const Twine &hint) {
    return emitErrorWithHint(
        step.getLoc(), "optimizer " + optimizer->name + " of step @" + step.getSymName() + ": " + message,
        hint);
  };
  // torch writes both decays as one entry, `betas`.
  if (auto pair = dyn_cast<ArrayAttr>(value);
      pair && key == "betas" && pair.size() == 2 && hyper.contains("beta1"))
    return failure(failed(setHyperparameter("beta1", pair[0])) ||
                   failed(setHyperparameter("beta2", pair[1])));
  const Hyperparameter *known =
      llvm::find_if(optimizer->hyperparameters, [&](const Hyperparameter &h) { return h.name == key; });
  if (known == optimizer->hyperparameters.end())
    return fail("no hyperparameter '" + key + "'", "the optimizers are " + describeOptimizers());
  auto flag = dyn_cast<BoolAttr>(value); // only nesterov is a bool
  std::optional<double> number = flag ? flag.getValue() : asNumber(value);
  if (!number || !std::isfinite(*number) || *number < known->least || *number >= known->below)
    return fail("'" + key + "' is " + (number ? describe(*number) : std::string("no number")) +
                    ", which does not lie in " + describeRange(*known),
                key + " is the " + known->doc + "; default " + describe(known->defaultValue));
  hyper[key] = *number;
  return success();
}

LogicalResult StepExpander::readOptimizer() {
  StringRef name = step.getOptimizer().getAs<StringAttr>("name").getValue();
  optimizer = findOptimizer(name);
  if (!optimizer)
    return emitErrorWithHint(step.getLoc(), "there is no optimizer '" + name + "'",
                             "the optimizers are " + describeOptimizers());
  for (const Hyperparameter &h : optimizer->hyperparameters)
    hyper[h.name] = h.defaultValue;
  for (NamedAttribute entry : step.getOptimizer())
    if (entry.getName() != "name" && failed(setHyperparameter(entry.getName(), entry.getValue())))
      return failure();
  if (auto nesterov = hyper.find("nesterov");
      nesterov != hyper.end() && nesterov->second != 0 && (hyper["momentum"] == 0 || hyper["dampening"] != 0))
    return emitErrorWithHint(step.getLoc(), "nesterov needs a momentum and no dampening", "set momentum=0.9");
  return success();
}

LogicalResult StepExpander::readGroups() {
  ArrayAttr list = step.getGroupsAttr();
  if (!list)
    return success();
  for (Attribute attr : list) {
    auto dictionary = dyn_cast<DictionaryAttr>(attr);
    auto match = dictionary ? dictionary.getAs<StringAttr>("match") : StringAttr();
    if (!match)
      return emitErrorWithHint(step.getLoc(), "a parameter group needs a `match`",
                               "write REGEX:lr=FACTOR,weight_decay=VALUE");
    FailureOr<llvm::Regex> regex = compilePattern(step.getLoc(), match.getValue());
    if (failed(regex))
      return failure();
    Group group{std::move(*regex), 1, std::nullopt};
    for (NamedAttribute entry : dictionary) {
      if (entry.getName() == "match")
        continue;
      std::optional<double> number = asNumber(entry.getValue());
      if (!number || !std::isfinite(*number) || *number < 0 ||
          (entry.getName() != "lr" && entry.getName() != "weight_decay"))
        return emitErrorWithHint(step.getLoc(),
                                 "parameter group '" + match.getValue() + "': cannot set '" +
                                     entry.getName().getValue() + "' so",
                                 "a group sets lr (a factor) and weight_decay, not negative");
      if (entry.getName() == "lr")
        group.lr = *number;
      else
        group.weightDecay = number;
    }
    groups.push_back(std::move(group));
  }
  return success();
}

Value StepExpander::learningRate(double factor) {
  if (factor == 1)
    return lr;
  Value &scaled = scaledRates[llvm::bit_cast<uint64_t>(factor)];
  if (!scaled) {
    // Updates all over the step share this product, so it stands where the learning rate is read.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(lr);
    scaled =
        graph::MulOp::create(b, step.getLoc(), lr, graph::scalar(b, step.getLoc(), b.getF32Type(), factor));
  }
  return scaled;
}

void StepExpander::expand(train::UpdateOp update) {
  Location loc = update.getLoc();
  train::VariableOp parameter = variables.lookup(update.getParameterAttr());
  RankedTensorType f32Type = parameter.getTensorType().clone(b.getF32Type());
  llvm::StringMap<double> own = hyper;
  double factor = 1;
  for (Group &group : groups)
    if (group.match.match(train::userName(parameter))) {
      factor = group.lr;
      if (group.weightDecay)
        own["weight_decay"] = *group.weightDecay;
      break;
    }

  Value stored = train::readVariable(b, loc, parameter);
  UpdateContext context{b,
                        loc,
                        graph::castTo(b, loc, stored, b.getF32Type()),
                        graph::castTo(b, loc, update.getGradient(), b.getF32Type()),
                        learningRate(factor),
                        {},
                        {},
                        shared,
                        own};
  SmallVector<train::VariableOp> slots;
  for (StringRef name : optimizer->slots(own)) {
    slots.push_back(variables.getOrCreateState(step, parameter, name, train::Role::slot, f32Type, train::FillAttr::get(b.getContext(), 0)));
    context.slots.push_back(train::readVariable(b, loc, slots.back()));
    slotBytes += uint64_t(f32Type.getNumElements()) * sizeof(float);
  }
  context.newSlots.resize(slots.size());

  Value next = optimizer->update(context);
  for (auto [variable, before, after] : llvm::zip_equal(slots, context.slots, context.newSlots))
    train::assignVariable(b, loc, variable, unlessSkipped(update, before, after));
  next = graph::castTo(b, loc, next, parameter.getTensorType().getElementType());
  train::assignVariable(b, loc, parameter, unlessSkipped(update, stored, next));
  update.erase();
  ++numUpdates;
}

LogicalResult StepExpander::run() {
  SmallVector<train::UpdateOp> updates(step.getBody().front().getOps<train::UpdateOp>());
  if (updates.empty())
    return success();
  if (failed(readOptimizer()) || failed(readGroups()))
    return failure();

  Location loc = step.getLoc();
  lr = train::readVariable(
      b, loc, variables.getOrCreateScalar(step, "lr", train::Role::hyper, b.getF32Type(), hyper["lr"]));
  train::VariableOp counter = variables.getOrCreateScalar(step, "step", train::Role::counter, b.getI64Type(), 0);
  Value count = train::readVariable(b, loc, counter);
  if (optimizer->shared) {
    StepContext context{b, step, updates.front().getSkip(), count, hyper};
    shared = optimizer->shared(context);
  }
  Value next = graph::AddOp::create(b, loc, count, graph::scalar(b, loc, b.getI64Type(), 1));
  train::assignVariable(b, loc, counter, unlessSkipped(updates.front(), count, next));
  for (train::UpdateOp update : updates)
    expand(update);
  return success();
}

class OptimizersPass : public mpc::impl::OptimizersPassBase<OptimizersPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    SmallVector<train::StepOp> steps(getOperation().getOps<train::StepOp>());
    for (train::StepOp step : steps) {
      StepExpander expander(step);
      if (failed(expander.run()))
        return signalPassFailure();
      if (step.getTrace())
        continue; // a trace form has the same state as the step it traces
      numUpdates += expander.numUpdates;
      slotBytes += expander.slotBytes;
    }
  }
};

} // namespace
