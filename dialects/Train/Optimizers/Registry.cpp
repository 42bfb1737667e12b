// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Train/Optimizers/Registry.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

ArrayRef<const Optimizer *> optimizers::allOptimizers() {
  static const Optimizer *const all[] = {&sgd,   &adam, &adamw, &adagrad, &rmsprop,
                                         &nadam, &lion, &lars,  &lamb,    &adafactor};
  return all;
}

const Optimizer *optimizers::findOptimizer(StringRef name) {
  for (const Optimizer *optimizer : allOptimizers())
    if (optimizer->name == name)
      return optimizer;
  return nullptr;
}

std::string optimizers::describeOptimizers() {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      allOptimizers(), os,
      [&](const Optimizer *optimizer) {
        os << optimizer->name << " (";
        llvm::interleaveComma(optimizer->hyperparameters, os, [&](const Hyperparameter *h) {
          os << h->name << '=' << llvm::format("%g", h->defaultValue);
        });
        os << ")";
      },
      "; ");
  return text;
}

double Hyperparameters::operator[](const Hyperparameter &hyperparameter) const {
  auto known = llvm::find(optimizer.hyperparameters, &hyperparameter);
  assert(known != optimizer.hyperparameters.end() && "a hyperparameter of another optimizer");
  return values[known - optimizer.hyperparameters.begin()];
}

Value UpdateContext::penalizedGradient() const {
  return weightDecay == 0 ? gradient : b.add(gradient, b.mul(parameter, weightDecay));
}

Value UpdateContext::decayedParameter() const {
  if (weightDecay == 0)
    return parameter;
  Value kept = b.sub(1, b.mul(b.cast(lr, b.builder.getF64Type()), weightDecay));
  return b.mul(parameter, b.cast(kept, b.builder.getF32Type()));
}

Value UpdateContext::norm(Value x) const {
  graph::Shape axes = graph::allAxes(x);
  return axes.empty() ? b.abs(x) : b.sqrt(b.sum(b.square(x), axes));
}

Value StepContext::runningPower(StringRef suffix, double base) {
  return runningProduct(suffix, b.constant(b.builder.getF64Type(), base));
}

Value StepContext::runningProduct(StringRef suffix, Value factor) {
  train::VariableOp variable = train::getOrCreateScalar(step, suffix, train::Role::counter, b.builder.getF64Type(), 1);
  Value before = train::readVariable(b.builder, b.loc, variable), after = b.mul(before, factor);
  train::assignVariable(b.builder, b.loc, variable, skip ? b.select(skip, before, after) : after);
  return after;
}
