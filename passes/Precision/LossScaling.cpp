//===- LossScaling.cpp - what stands between the backward pass and the updates ------===//
//
// This file builds the seed, the unscaling, the overflow check, the clipping and the accumulation;
// ScalerState.cpp has the scaler's own state. The compiler decides the order, which matters: check the scaled
// gradients of all parameters, unscale, clip, update under the flag. Passes.td shows the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/ScalerState.h"
#include "llvm/ADT/SetVector.h"

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

class StepScaler {
public:
  StepScaler(train::StepOp step, bool guardsLoss)
      : step(step), options(step.getScaler().getOptions()), guardsLoss(guardsLoss), variables(step), b(step.getBody().front().getTerminator()), loc(step.getLoc()) {}

  void run(train::SeedOp seed);

  unsigned numChecked = 0, numGuarded = 0;

private:
  Value allAxes(Value x, bool any);
  Value anyOf(ArrayRef<Value> flags);
  Value anyNonFinite();
  Value nonFiniteLoss();
  void findCotangents(Value scale);
  Value largestMagnitude();
  void accumulate();
  void returnGradients(Value scale);
  void unscaleAndClip(Value scale);
  void guardBuffers();
  bool accumulates() { return step.getAccumulate() > 1; }

  train::StepOp step;
  const train::Scaler &options;
  bool guardsLoss;
  train::VariableTable variables;
  OpBuilder b;
  Location loc;
  SmallVector<Gradient> gradients;
  SmallVector<Value> cotangents; // every low-precision value of the backward pass, which calibration watches
  Value due;       // tensor<i1>: this call ends an accumulation window; null without accumulation
  Value nonFinite; // tensor<i1>: some scaled gradient is not finite; null without a scale
  Value badLoss;   // tensor<i1>: the loss is not finite and the run guards against that; null without a guard
  Value badWindow; // tensor<i1>: badLoss for some accumulated batch; null where that is, and without accumulation
  Value unusable;  // tensor<i1>: nonFinite or badLoss; null where neither is checked
};

/// Applies reduce_any or reduce_sum over all axes; the result is a scalar.
Value StepScaler::allAxes(Value x, bool any) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
  if (axes.empty())
    return x;
  return any ? Value(ReduceAnyOp::create(b, x.getLoc(), x, axes, /*keepdims=*/false))
             : Value(ReduceSumOp::create(b, x.getLoc(), x, axes, /*keepdims=*/false));
}

/// Builds a tree of ors, so that no chain is as long as the network is deep. There is at least one flag.
Value StepScaler::anyOf(ArrayRef<Value> flags) {
  if (flags.size() == 1)
    return flags[0];
  size_t half = flags.size() / 2;
  return OrOp::create(b, loc, anyOf(flags.take_front(half)), anyOf(flags.drop_front(half)));
}

Value StepScaler::anyNonFinite() {
  SmallVector<Value> flags;
  for (Gradient &gradient : gradients) {
    flags.push_back(
        allAxes(IsNonFiniteOp::create(b, gradient.update.getLoc(), gradient.value), /*any=*/true));
    ++numChecked;
  }
  return anyOf(flags);
}

/// Finds the values that depend on the scale and are stored in 16 bits, because these may overflow.
void StepScaler::findCotangents(Value scale) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> work{scale};
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers())
      if (slice.insert(user))
        llvm::append_range(work, user->getResults());
  for (Operation &op : step.getBody().front()) {
    auto indexed = dyn_cast<IndexingOpInterface>(op);
    if (!slice.contains(&op) || (indexed && indexed.keepsMagnitudes()))
      continue;
    for (Value v : op.getResults())
      if (isFloat(v) && isLowPrecision(elementOf(v)))
        cotangents.push_back(v);
  }
}

/// Returns max |x| over this call's cotangents and gradients, a tensor<f32>; it is not finite when one of them is not.
Value StepScaler::largestMagnitude() {
  SmallVector<Value> maxima;
  auto watch = [&](Value x) {
    Value y = AbsOp::create(b, x.getLoc(), x);
    if (SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank())); !axes.empty())
      y = ReduceMaxOp::create(b, x.getLoc(), y, axes, /*keepdims=*/false);
    maxima.push_back(castTo(b, x.getLoc(), y, b.getF32Type()));
  };
  llvm::for_each(cotangents, watch);
  for (Gradient &gradient : gradients)
    watch(gradient.value);
  while (maxima.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < maxima.size(); i += 2)
      next.push_back(MaxOp::create(b, loc, maxima[i], maxima[i + 1]));
    if (maxima.size() % 2)
      next.push_back(maxima.back());
    maxima = std::move(next);
  }
  return maxima[0];
}

/// Returns whether the step's loss is not finite, if the run asks for that: `nan_guard` is 1 unless the user said to ignore it.
Value StepScaler::nonFiniteLoss() {
  Value loss = step.getBody().front().getTerminator()->getOperand(0);
  Value flag = allAxes(IsNonFiniteOp::create(b, loc, loss), /*any=*/true);
  train::VariableOp guard = variables.getOrCreateScalar(step, "nan_guard", train::Role::hyper, b.getF32Type(), 1);
  Value guarded = CompareOp::create(b, loc, Predicate::ne, train::readVariable(b, loc, guard), scalar(b, loc, b.getF32Type(), 0));
  return AndOp::create(b, loc, flag, guarded);
}

/// Sums scaled gradients in variables; the sum replaces each gradient. A batch whose loss is not finite costs the whole window, as with torch's
/// GradScaler: `badWindow` says whether this window had one. Without a loss scale, whose check would notice such a batch, the batch is not added either.
void StepScaler::accumulate() {
  int64_t window = step.getAccumulate();
  train::VariableOp micro =
      variables.getOrCreateScalar(step, "micro_step", train::Role::counter, b.getI64Type(), 0);
  Value position = train::readVariable(b, loc, micro);
  Value zero = scalar(b, loc, b.getI64Type(), 0), one = scalar(b, loc, b.getI64Type(), 1);
  due =
      CompareOp::create(b, loc, Predicate::ge, position, scalar(b, loc, b.getI64Type(), double(window - 1)));
  train::assignVariable(b, loc, micro,
                        SelectOp::create(b, loc, due, zero, AddOp::create(b, loc, position, one)));
  for (Gradient &gradient : gradients) {
    Location at = gradient.update.getLoc();
    train::VariableOp sum =
        variables.getOrCreateState(step, gradient.parameter, "accumulator", train::Role::accumulator, typeOf(gradient.value),
                                   train::FillAttr::get(b.getContext(), 0));
    Value before = train::readVariable(b, at, sum);
    gradient.value = AddOp::create(b, at, before, gradient.value);
    if (badLoss && !options.scales())
      gradient.value = SelectOp::create(b, at, badLoss, before, gradient.value);
    Value cleared = scalar(b, at, b.getF32Type(), 0);
    train::assignVariable(b, at, sum, SelectOp::create(b, at, due, cleared, gradient.value));
  }
  if (!badLoss)
    return;
  train::VariableOp seen = variables.getOrCreateScalar(step, "bad_losses", train::Role::counter, b.getI64Type(), 0);
  Value before = train::readVariable(b, loc, seen);
  Value count = AddOp::create(b, loc, before, castTo(b, loc, badLoss, b.getI64Type()));
  train::assignVariable(b, loc, seen, SelectOp::create(b, loc, due, zero, count));
  badWindow = CompareOp::create(b, loc, Predicate::gt, count, zero);
}

/// Appends the unscaled gradients of this call's batch to the results of a trace step.
void StepScaler::returnGradients(Value scale) {
  Operation *yield = step.getBody().front().getTerminator();
  SmallVector<Value> results(yield->getOperands());
  SmallVector<Attribute> attributes;
  if (ArrayAttr existing = step.getResAttrsAttr())
    attributes.append(existing.begin(), existing.end());
  attributes.resize(results.size(), b.getDictionaryAttr({}));
  Value inverse = options.scales() ? inverseScale(b, loc, scale, options, 1) : Value();
  for (Gradient &gradient : gradients) {
    Value g = gradient.value;
    results.push_back(inverse ? Value(MulOp::create(b, gradient.update.getLoc(), g, inverse)) : g);
    StringAttr parameter = gradient.parameter.getSymNameAttr();
    attributes.push_back(b.getDictionaryAttr(
        {b.getNamedAttr(train::kRoleAttr, b.getStringAttr("grad")), b.getNamedAttr(train::kOfAttr, parameter),
         b.getNamedAttr(train::kNameAttr, b.getStringAttr("grad/" + train::userName(gradient.parameter)))}));
  }
  yield->setOperands(results);
  step.setFunctionType(b.getFunctionType(step.getArgumentTypes(), TypeRange(ValueRange(results))));
  step.setResAttrsAttr(b.getArrayAttr(attributes));
}

void StepScaler::unscaleAndClip(Value scale) {
  if (options.scales() || accumulates()) {
    Value inverse = inverseScale(b, loc, scale, options, step.getAccumulate());
    for (Gradient &gradient : gradients)
      gradient.value = MulOp::create(b, gradient.update.getLoc(), gradient.value, inverse);
  }
  if (std::optional<APFloat> bound = step.getClipValue())
    for (Gradient &gradient : gradients)
      gradient.value = ClipOp::create(b, gradient.update.getLoc(), gradient.value.getType(), gradient.value,
                                      b.getF64FloatAttr(-bound->convertToDouble()),
                                      b.getF64FloatAttr(bound->convertToDouble()));
  if (std::optional<APFloat> bound = step.getClipNorm()) {
    // This is torch's clip_grad_norm_: g *= min(max_norm / (norm + 1e-6), 1)
    Value squares;
    for (Gradient &gradient : gradients) {
      Value sum =
          allAxes(MulOp::create(b, gradient.update.getLoc(), gradient.value, gradient.value), /*any=*/false);
      squares = squares ? Value(AddOp::create(b, loc, squares, sum)) : sum;
    }
    auto constant = [&](double v) { return scalar(b, loc, b.getF32Type(), v); };
    Value norm = AddOp::create(b, loc, SqrtOp::create(b, loc, squares), constant(1e-6));
    Value factor = DivOp::create(b, loc, constant(bound->convertToDouble()), norm);
    factor = MinOp::create(b, loc, factor, constant(1));
    for (Gradient &gradient : gradients)
      gradient.value = MulOp::create(b, gradient.update.getLoc(), gradient.value, factor);
  }
}

/// Leaves running statistics as they were when the gradients overflow or the loss is not finite, because the activations behind both may be infinite.
void StepScaler::guardBuffers() {
  // The new assignments go to the same block, so the loop walks over a list of those from before.
  SmallVector<train::AssignOp> assigns(step.getBody().front().getOps<train::AssignOp>());
  for (train::AssignOp assign : assigns) {
    train::VariableOp variable = variables.lookup(assign.getVariableAttr());
    if (variable.getRole() != train::Role::buffer)
      continue;
    Value old = train::readVariable(b, assign.getLoc(), variable);
    Value next = SelectOp::create(b, assign.getLoc(), unusable, old, assign.getValue());
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
    scale = currentScale(b, seed.getLoc(), step, options);
  }
  seed.replaceAllUsesWith(scale);
  seed.erase();
  if (options.calibrates())
    findCotangents(scale);

  for (train::UpdateOp update : step.getBody().front().getOps<train::UpdateOp>())
    gradients.push_back({update, variables.lookup(update.getParameterAttr()),
                         castTo(b, update.getLoc(), update.getGradient(), b.getF32Type())});
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

  auto either = [&](Value x, Value y) { return x && y ? Value(OrOp::create(b, loc, x, y)) : x ? x : y; };
  Value overflow = nonFinite;
  Value skip = either(nonFinite, accumulates() ? badWindow : badLoss);
  if (due) {
    skip = either(NotOp::create(b, loc, due), skip);
    overflow = nonFinite ? Value(AndOp::create(b, loc, due, nonFinite)) : Value();
  }
  for (Gradient &gradient : gradients) {
    train::UpdateOp::create(b, gradient.update.getLoc(), gradient.update.getParameterAttr(), gradient.value,
                            skip);
    gradient.update.erase();
  }
  unusable = either(nonFinite, badLoss);
  if (unusable)
    guardBuffers();
  if (options.scales())
    advanceScaler(b, loc, step, options, scale, {overflow, due, largest});
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
    StepScaler scaler(step, guardLoss);
    scaler.run(*step.getBody().front().getOps<train::SeedOp>().begin());
    if (counts) {
      numChecked += scaler.numChecked;
      numGuarded += scaler.numGuarded;
    }
  }
};

} // namespace
