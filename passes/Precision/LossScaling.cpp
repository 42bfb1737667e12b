//===- LossScaling.cpp - what stands between the backward pass and the updates ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file builds the seed, the unscaling, the overflow check, the clipping and the accumulation;
// ScalerState.cpp has the scaler's own state. The compiler decides the order, which matters: check the scaled
// gradients of all parameters, unscale, clip, update under the flag. Passes.td shows the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Train/IR/Carried.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Precision/Magnitudes.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/ScalerState.h"

namespace mpc {
#define GEN_PASS_DEF_LOSSSCALINGPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::precision;

namespace {

/// A parameter's fp32 gradient on its way to the update.
struct Gradient {
  train::UpdateOp update;
  train::VariableOp parameter;
  Value value;
};

/// A result that a step gets besides its loss.
struct Result {
  Value value;
  StringRef role;
  std::string name;
  StringAttr of; // symbol of a parameter; null: the result belongs to the step as a whole
};

class StepScaler {
public:
  StepScaler(train::StepOp step, bool guardsLoss, bool returnsNorm)
      : step(step), options(step.getScaler().getOptions()), guardsLoss(guardsLoss), returnsNorm(returnsNorm),
        variables(step), b(step.getBody().front().getTerminator()), loc(step.getLoc()) {}

  void run(train::SeedOp seed);

  unsigned numChecked = 0, numGuarded = 0;

private:
  GraphBuilder at(Location where) { return {b, where}; }
  Value anyOf(ArrayRef<Value> flags);
  Value anyNonFinite();
  Value nonFiniteLoss();
  Value largestMagnitude();
  void accumulate();
  void addResults(ArrayRef<Result> added);
  void returnGradients(Value scale);
  Value globalNorm();
  void unscaleAndClip(Value scale);
  void guardBuffers();
  bool accumulates() { return step.getAccumulate() > 1; }

  train::StepOp step;
  const train::Scaler &options;
  bool guardsLoss, returnsNorm;
  train::VariableTable variables;
  OpBuilder b;
  Location loc;
  SmallVector<Gradient> gradients;
  SmallVector<Value> cotangents; // every low-precision value of the backward pass, which calibration watches
  Value due;                     // tensor<i1>: this call ends an accumulation window; null without accumulation
  Value nonFinite;               // tensor<i1>: some scaled gradient is not finite; null without a scale
  Value badLoss;   // tensor<i1>: the loss is not finite and the run guards against that; null without a guard
  Value badWindow; // tensor<i1>: badLoss for some accumulated batch; null where that is, and without accumulation
  Value unusable;  // tensor<i1>: nonFinite or badLoss; null where neither is checked
};

/// Returns whether some element is not finite, a tensor<i1>.
static Value hasNonFinite(const GraphBuilder &b, Value x) { return overAll<ReduceAnyOp>(b, b.isNonFinite(x)); }

/// Builds a tree of ors, so that no chain is as long as the network is deep. There is at least one flag.
Value StepScaler::anyOf(ArrayRef<Value> flags) {
  if (flags.size() == 1)
    return flags[0];
  size_t half = flags.size() / 2;
  Value second = anyOf(flags.drop_front(half)), first = anyOf(flags.take_front(half));
  return at(loc).either(first, second);
}

Value StepScaler::anyNonFinite() {
  SmallVector<Value> flags;
  for (Gradient &gradient : gradients) {
    flags.push_back(hasNonFinite(at(gradient.update.getLoc()), gradient.value));
    ++numChecked;
  }
  return anyOf(flags);
}

/// Returns max |x| over this call's cotangents and gradients, a tensor<f32>; it is not finite when one of them is not.
Value StepScaler::largestMagnitude() {
  SmallVector<Value> watched(cotangents);
  for (Gradient &gradient : gradients)
    watched.push_back(gradient.value);
  return precision::largestMagnitude(b, loc, watched);
}

/// Returns whether the step's loss is not finite, if the run asks for that: `nan_guard` is 1 unless the user
/// said to ignore it.
Value StepScaler::nonFiniteLoss() {
  Value loss = step.getBody().front().getTerminator()->getOperand(0);
  GraphBuilder here = at(loc);
  Value flag = hasNonFinite(here, loss);
  train::VariableOp guard = variables.getOrCreateScalar(step, "nan_guard", train::Role::hyper, b.getF32Type(), 1);
  Value zero = here.constant(b.getF32Type(), 0),
        guarded = here.compare(Predicate::ne, train::readVariable(b, loc, guard), zero);
  return here.both(flag, guarded);
}

/// Sums scaled gradients in variables; the sum replaces each gradient. A batch whose loss is not finite costs the whole
/// window, as with torch's GradScaler: `badWindow` says whether this window had one. Without a loss scale, whose check
/// would notice such a batch, the batch is not added either.
void StepScaler::accumulate() {
  int64_t window = step.getAccumulate();
  GraphBuilder here = at(loc);
  train::VariableOp micro = variables.getOrCreateScalar(step, "micro_step", train::Role::counter, b.getI64Type(), 0);
  Value position = train::readVariable(b, loc, micro);
  Value zero = here.constant(position, 0), one = here.constant(position, 1);
  due = here.compare(Predicate::ge, position, double(window - 1));
  train::assignVariable(b, loc, micro, here.select(due, zero, here.add(position, one)));
  for (Gradient &gradient : gradients) {
    GraphBuilder of = at(gradient.update.getLoc());
    train::VariableOp sum =
        variables.getOrCreateState(step, gradient.parameter, "accumulator", train::Role::accumulator,
                                   typeOf(gradient.value), train::FillAttr::get(b.getContext(), 0));
    Value before = train::readVariable(b, of.loc, sum);
    gradient.value = of.add(before, gradient.value);
    if (badLoss && !options.scales())
      gradient.value = of.select(badLoss, before, gradient.value);
    train::assignVariable(b, of.loc, sum, of.select(due, 0, gradient.value));
  }
  if (!badLoss)
    return;
  train::VariableOp seen = variables.getOrCreateScalar(step, "bad_losses", train::Role::counter, b.getI64Type(), 0);
  Value before = train::readVariable(b, loc, seen);
  Value count = here.add(before, here.cast(badLoss, b.getI64Type()));
  train::assignVariable(b, loc, seen, here.select(due, zero, count));
  badWindow = here.compare(Predicate::gt, count, zero);
}

void StepScaler::addResults(ArrayRef<Result> added) {
  Operation *yield = step.getBody().front().getTerminator();
  SmallVector<Value> results(yield->getOperands());
  SmallVector<Attribute> attributes;
  if (ArrayAttr existing = step.getResAttrsAttr())
    attributes.append(existing.begin(), existing.end());
  attributes.resize(results.size(), b.getDictionaryAttr({}));
  for (const Result &result : added) {
    results.push_back(result.value);
    NamedAttrList described;
    described.set(train::kRoleAttr, b.getStringAttr(result.role));
    described.set(train::kNameAttr, b.getStringAttr(result.name));
    if (result.of)
      described.set(train::kOfAttr, result.of);
    attributes.push_back(described.getDictionary(b.getContext()));
  }
  yield->setOperands(results);
  step.setFunctionType(b.getFunctionType(step.getArgumentTypes(), TypeRange(ValueRange(results))));
  step.setResAttrsAttr(b.getArrayAttr(attributes));
}

/// Appends the unscaled gradients of this call's batch to the results of a trace step.
void StepScaler::returnGradients(Value scale) {
  Value inverse = options.scales() ? inverseScale(at(loc), scale, options, 1) : Value();
  SmallVector<Result> results;
  for (Gradient &gradient : gradients) {
    Value g = gradient.value;
    results.push_back({inverse ? at(gradient.update.getLoc()).mul(g, inverse) : g, "grad",
                       "grad/" + train::userName(gradient.parameter).str(), gradient.parameter.getSymNameAttr()});
  }
  addResults(results);
}

/// Returns the norm of all gradients together, a tensor<f32>. It is infinite where a sum of squares leaves fp32.
Value StepScaler::globalNorm() {
  GraphBuilder here = at(loc);
  Value squares;
  for (Gradient &gradient : gradients) {
    GraphBuilder of = at(gradient.update.getLoc());
    Value sum = overAll<ReduceSumOp>(of, of.square(gradient.value));
    squares = squares ? here.add(squares, sum) : sum;
  }
  return here.sqrt(squares);
}

void StepScaler::unscaleAndClip(Value scale) {
  if (options.scales() || accumulates()) {
    Value inverse = inverseScale(at(loc), scale, options, step.getAccumulate());
    for (Gradient &gradient : gradients)
      gradient.value = at(gradient.update.getLoc()).mul(gradient.value, inverse);
  }
  Value norm;
  if (returnsNorm) {
    norm = globalNorm();
    addResults({{norm, "grad_norm", "grad_norm", nullptr}});
  }
  if (std::optional<APFloat> bound = step.getClipValue()) {
    for (Gradient &gradient : gradients)
      gradient.value =
          at(gradient.update.getLoc()).clip(gradient.value, -bound->convertToDouble(), bound->convertToDouble());
    norm = {};
  }
  if (std::optional<APFloat> bound = step.getClipNorm()) {
    // This is torch's clip_grad_norm_: g *= min(max_norm / (norm + 1e-6), 1)
    GraphBuilder here = at(loc);
    if (!norm)
      norm = globalNorm();
    Value margin = here.constant(norm, 1e-6);
    Value factor = here.min(here.div(bound->convertToDouble(), here.add(norm, margin)), 1);
    for (Gradient &gradient : gradients)
      gradient.value = at(gradient.update.getLoc()).mul(gradient.value, factor);
  }
}

/// Leaves running statistics as they were when the gradients overflow or the loss is not finite, because the
/// activations behind both may be infinite. Carried states stay only where they are not finite themselves.
void StepScaler::guardBuffers() {
  // The new assignments go to the same block, so the loop walks over a list of those from before.
  SmallVector<train::AssignOp> assigns(step.getBody().front().getOps<train::AssignOp>());
  for (train::AssignOp assign : assigns) {
    train::VariableOp variable = variables.lookup(assign.getVariableAttr());
    if (variable.getRole() != train::Role::buffer)
      continue;
    Value old = train::readVariable(b, assign.getLoc(), variable);
    // A carried state belongs to the forward pass: as in torch, it goes on from a batch whose gradients overflow. It
    // stays only where it would not be finite itself, for it could never be finite again.
    Value stays = train::carriedOutput(variable) ? hasNonFinite(at(assign.getLoc()), assign.getValue()) : unusable;
    Value next = at(assign.getLoc()).select(stays, old, assign.getValue());
    train::assignVariable(b, assign.getLoc(), variable, next);
    assign.erase();
    ++numGuarded;
  }
}

void StepScaler::run(train::SeedOp seed) {
  Value scale;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(seed);
    scale = currentScale(at(seed.getLoc()), step, options);
  }
  seed.replaceAllUsesWith(scale);
  seed.erase();
  if (options.calibrates())
    cotangents = findCotangents(step.getBody().front(), scale);

  for (train::UpdateOp update : step.getBody().front().getOps<train::UpdateOp>())
    gradients.push_back({update, variables.lookup(update.getParameterAttr()),
                         at(update.getLoc()).cast(update.getGradient(), b.getF32Type())});
  if (gradients.empty())
    return;
  if (step.getTrace())
    returnGradients(scale);
  Value largest = options.calibrates() ? largestMagnitude() : Value();
  if (guardsLoss && step.getBody().front().getTerminator()->getNumOperands() > 0)
    badLoss = nonFiniteLoss();
  if (accumulates())
    accumulate();
  if (options.scales())
    nonFinite = anyNonFinite();
  unscaleAndClip(scale);

  auto either = [&](Value x, Value y) { return x && y ? at(loc).either(x, y) : x ? x : y; };
  Value overflow = nonFinite;
  Value skip = either(nonFinite, accumulates() ? badWindow : badLoss);
  if (due) {
    skip = either(at(loc).opposite(due), skip);
    overflow = nonFinite ? at(loc).both(due, nonFinite) : Value();
  }
  for (Gradient &gradient : gradients) {
    train::UpdateOp::create(b, gradient.update.getLoc(), gradient.update.getParameterAttr(), gradient.value, skip);
    gradient.update.erase();
  }
  unusable = either(nonFinite, badLoss);
  if (unusable)
    guardBuffers();
  if (options.scales())
    advanceScaler(at(loc), step, options, scale, {overflow, due, largest});
}

class LossScalingPass : public mpc::impl::LossScalingPassBase<LossScalingPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    SmallVector<train::StepOp> steps;
    for (train::StepOp step : getOperation().getOps<train::StepOp>())
      if (!step.getBody().front().getOps<train::SeedOp>().empty())
        steps.push_back(step);
    for (train::StepOp step : steps) {
      numScaled += step.getScaler().getOptions().scales();
      if (keepGradients) {
        OpBuilder b(step->getBlock(), std::next(Block::iterator(step)));
        auto trace = cast<train::StepOp>(b.clone(*step));
        trace.setSymName((step.getSymName() + train::kTraceSuffix).str());
        trace.setTrace(true);
        scale(trace, /*counts=*/false);
      }
      scale(step, /*counts=*/true);
    }
  }

private:
  void scale(train::StepOp step, bool counts) {
    StepScaler scaler(step, guardLoss, returnNorm);
    scaler.run(*step.getBody().front().getOps<train::SeedOp>().begin());
    if (counts) {
      numChecked += scaler.numChecked;
      numGuarded += scaler.numGuarded;
    }
  }
};

} // namespace
