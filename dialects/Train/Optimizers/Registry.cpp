#include "dialects/Train/Optimizers/Registry.h"
#include "dialects/Graph/IR/Shapes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::optimizers;

ArrayRef<const Optimizer *> optimizers::allOptimizers() {
  static const Optimizer *const all[] = {&sgd, &adam, &adamw, &adagrad};
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
        llvm::interleaveComma(optimizer->hyperparameters, os,
                              [&](const Hyperparameter *h) { os << h->name << '=' << llvm::format("%g", h->defaultValue); });
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

Value UpdateContext::constant(Value like, double v) {
  return graph::scalar(b, loc, graph::elementOf(like), v);
}
Value UpdateContext::add(Value x, Value y) { return graph::AddOp::create(b, loc, x, y); }
Value UpdateContext::sub(Value x, Value y) { return graph::SubOp::create(b, loc, x, y); }
Value UpdateContext::mul(Value x, Value y) { return graph::MulOp::create(b, loc, x, y); }
Value UpdateContext::mul(Value x, double y) { return y == 1 ? x : mul(x, constant(x, y)); }
Value UpdateContext::div(Value x, Value y) { return graph::DivOp::create(b, loc, x, y); }
Value UpdateContext::sqrt(Value x) { return graph::SqrtOp::create(b, loc, x); }

Value StepContext::runningPower(StringRef suffix, double base) {
  Location loc = step.getLoc();
  train::VariableOp variable =
      train::getOrCreateScalar(step, suffix, train::Role::counter, b.getF64Type(), 1);
  Value before = train::readVariable(b, loc, variable);
  Value after = graph::MulOp::create(b, loc, before, graph::scalar(b, loc, b.getF64Type(), base));
  train::assignVariable(b, loc, variable,
                        skip ? Value(graph::SelectOp::create(b, loc, skip, before, after)) : after);
  return after;
}
