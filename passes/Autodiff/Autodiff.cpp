//===- Autodiff.cpp - reverse-mode differentiation of train.steps -----------------===//
//
// This file has the traversal and the accumulation only: each op states its own derivative (dialects/Graph/Gradients). Passes.td shows the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Interfaces/Differentiable.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Names.h"
#include "dialects/Train/IR/VariableTable.h"
#include "passes/Autodiff/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mpc {
#define GEN_PASS_DEF_AUTODIFFPASS
#include "passes/Autodiff/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

bool isFloatTensor(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && isa<FloatType>(type.getElementType());
}

/// Differentiates one step.
class Differentiator {
public:
  explicit Differentiator(train::StepOp step) : step(step), block(step.getBody().front()) {}

  LogicalResult run();

  unsigned numVjps = 0, numSums = 0, numUpdates = 0;

private:
  void findActive();
  void findNeeded(Value loss);
  LogicalResult checkDifferentiable();
  LogicalResult differentiate(Operation *op, OpBuilder &b);
  void contribute(Value to, Value gradient, OpBuilder &b);
  void emitUpdates(OpBuilder &b);
  void notePath(InFlightDiagnostic &diagnostic, Operation *op);

  bool isTrained(train::ReadOp read) const { return trained.contains(read.getVariableAttr()); }

  train::StepOp step;
  Block &block;
  llvm::DenseSet<Attribute> trained;
  /// Values that depend on a trained parameter through derivatives.
  llvm::DenseSet<Value> active;
  /// Ops that lie between a trained parameter and the loss, in program order.
  SmallVector<Operation *> onPath;
  /// The gradient of each value, summed so far.
  DenseMap<Value, Value> gradients;
};

void Differentiator::findActive() {
  trained.insert_range(step.getParameters());
  for (Operation &op : block) {
    bool starts = isa<train::ReadOp>(op) && isTrained(cast<train::ReadOp>(op));
    bool passes = !op.hasTrait<ZeroGradient>() &&
                  llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); });
    if (starts || passes)
      for (Value result : op.getResults())
        if (isFloatTensor(result))
          active.insert(result);
  }
}

void Differentiator::findNeeded(Value loss) {
  llvm::DenseSet<Value> reaching{loss};
  for (Operation &op : llvm::reverse(block)) {
    bool reaches =
        llvm::any_of(op.getResults(), [&](Value v) { return reaching.contains(v) && active.contains(v); });
    if (!reaches)
      continue;
    reaching.insert_range(op.getOperands());
    if (!isa<train::ReadOp>(op))
      onPath.push_back(&op);
  }
  std::reverse(onPath.begin(), onPath.end());
}

/// Attaches notes that lead from the op back to the nearest parameter.
void Differentiator::notePath(InFlightDiagnostic &diagnostic, Operation *op) {
  for (unsigned length = 0;; ++length) {
    Value next;
    for (Value operand : op->getOperands())
      if (active.contains(operand)) {
        next = operand;
        break;
      }
    if (!next)
      return;
    op = next.getDefiningOp();
    if (auto read = dyn_cast<train::ReadOp>(op)) {
      StringRef name = train::userName(train::lookupVariable(read, read.getVariableAttr()));
      diagnostic.attachNote(read.getLoc()) << "it depends on parameter @" << name;
      diagnostic.attachNote(step.getLoc()) << "hint: freeze the parameters before it (--freeze=REGEX, here '"
                                           << name << "'), or replace the op by ones that have a gradient";
      return;
    }
    if (length < 8)
      diagnostic.attachNote(op->getLoc())
          << "on the path: '" << op->getName() << "' (" << locationName(op->getLoc()) << ")";
  }
}

LogicalResult Differentiator::checkDifferentiable() {
  LogicalResult result = success();
  for (Operation *op : onPath) {
    if (isa<DifferentiableOpInterface>(op))
      continue;
    InFlightDiagnostic diagnostic = emitError(op->getLoc())
                                    << "'" << op->getName() << "' (" << locationName(op->getLoc())
                                    << ") has no gradient";
    if (auto stated = dyn_cast<NoGradientOpInterface>(op))
      diagnostic << ": " << stated.getNoGradientReason();
    notePath(diagnostic, op);
    result = failure();
  }
  return result;
}

void Differentiator::contribute(Value to, Value gradient, OpBuilder &b) {
  Value &sum = gradients[to];
  if (!sum) {
    sum = gradient;
    return;
  }
  sum = graph::AddOp::create(b, gradient.getLoc(), sum, gradient);
  ++numSums;
}

LogicalResult Differentiator::differentiate(Operation *op, OpBuilder &b) {
  SmallVector<Value> cotangents;
  for (Value result : op->getResults())
    cotangents.push_back(gradients.lookup(result));
  if (llvm::none_of(cotangents, [](Value v) { return bool(v); }))
    return success();
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(active.contains(operand));

  VjpContext context(op, b, cotangents, needed, graph::adaptContribution);
  if (failed(cast<DifferentiableOpInterface>(op).buildVjp(context))) {
    // The op has already said why; this error says what needs its gradient.
    InFlightDiagnostic diagnostic = emitError(op->getLoc())
                                    << "'" << op->getName() << "' (" << locationName(op->getLoc())
                                    << ") is on the path from the loss to a parameter";
    notePath(diagnostic, op);
    return failure();
  }
  ++numVjps;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (Value gradient = needed[i] ? context.gradient(i) : Value())
      contribute(operand, gradient, b);
  return success();
}

void Differentiator::emitUpdates(OpBuilder &b) {
  DenseMap<Attribute, Value> byParameter;
  for (train::ReadOp read : block.getOps<train::ReadOp>()) {
    Value gradient = isTrained(read) ? gradients.lookup(read.getValue()) : Value();
    if (!gradient)
      continue;
    Value &sum = byParameter[read.getVariableAttr()];
    if (sum)
      ++numSums;
    sum = sum ? Value(graph::AddOp::create(b, gradient.getLoc(), sum, gradient)) : gradient;
  }
  train::VariableTable variables(step);
  for (FlatSymbolRefAttr parameter : step.getParameters().getAsRange<FlatSymbolRefAttr>()) {
    Value gradient = byParameter.lookup(parameter);
    StringRef name = train::userName(variables.lookup(parameter));
    if (!gradient) {
      emitWarning(step.getLoc()) << "the loss of step @" << step.getSymName()
                                 << " does not depend on parameter @" << name
                                 << ": it keeps its initial value";
      continue;
    }
    train::UpdateOp::create(b, NameLoc::get(b.getStringAttr(name)), parameter, gradient, /*skip=*/Value());
    ++numUpdates;
  }
}

LogicalResult Differentiator::run() {
  Operation *yield = block.getTerminator();
  if (yield->getNumOperands() == 0)
    return emitErrorWithHint(step.getLoc(), "step @" + step.getSymName() + " has no loss",
                             "yield a scalar f32 first");
  Value loss = yield->getOperand(0);
  auto type = cast<RankedTensorType>(loss.getType());
  if (type.getRank() != 0 || !type.getElementType().isF32())
    return emitErrorWithHint(step.getLoc(), "the loss of step @" + step.getSymName() + " is not tensor<f32>",
                             "attach the loss with mpc-attach-loss, which reduces and casts it");
  findActive();
  findNeeded(loss);
  if (failed(checkDifferentiable()))
    return failure();

  OpBuilder b(yield);
  Operation *lastForward = yield->getPrevNode();
  if (active.contains(loss))
    gradients[loss] = train::SeedOp::create(b, loss.getLoc(), type);
  // Every failure is reported, not only the first.
  LogicalResult built = success();
  for (Operation *op : llvm::reverse(onPath))
    if (failed(differentiate(op, b)))
      built = failure();
  if (failed(built))
    return failure();
  emitUpdates(b);

  // A VJP may build ops that nothing needs in the end; they are erased.
  while (yield->getPrevNode() != lastForward) {
    Operation *op = yield->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    else
      yield = op;
  }
  return success();
}

class AutodiffPass : public mpc::impl::AutodiffPassBase<AutodiffPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    for (train::StepOp step : getOperation().getOps<train::StepOp>()) {
      if (!step.getBody().front().getOps<train::UpdateOp>().empty())
        continue;
      Differentiator differentiator(step);
      if (failed(differentiator.run()))
        return signalPassFailure();
      numVjps += differentiator.numVjps;
      numSums += differentiator.numSums;
      numUpdates += differentiator.numUpdates;
    }
  }
};

} // namespace
