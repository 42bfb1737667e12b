//===- Autodiff.cpp - reverse-mode differentiation of train.steps -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file decides what is differentiated: dialects/Graph/Gradients/ReverseMode.h traverses a block, and each op
// states its own derivative. Passes.td shows the IR before and after.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Gradients/ReverseMode.h"
#include "dialects/Graph/IR/GraphBuilder.h"
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

/// Differentiates one step.
class Differentiator {
public:
  explicit Differentiator(train::StepOp step) : step(step), block(step.getBody().front()), mode(block) {}

  LogicalResult run();

  unsigned numVjps() const { return mode.numVjps; }
  unsigned numSums() const { return mode.numSums + numUpdateSums; }
  unsigned numUpdates = 0;

private:
  void emitUpdates(OpBuilder &b);
  void notePath(InFlightDiagnostic &diagnostic, Operation *op);

  bool isTrained(train::ReadOp read) const { return trained.contains(read.getVariableAttr()); }

  train::StepOp step;
  Block &block;
  llvm::DenseSet<Attribute> trained;
  graph::ReverseMode mode;
  unsigned numUpdateSums = 0;
};

/// Attaches notes that lead from the op back to the nearest parameter.
void Differentiator::notePath(InFlightDiagnostic &diagnostic, Operation *op) {
  for (unsigned length = 0;; ++length) {
    Value next;
    for (Value operand : op->getOperands())
      if (mode.isActive(operand)) {
        next = operand;
        break;
      }
    if (!next)
      return;
    op = next.getDefiningOp();
    if (auto read = dyn_cast<train::ReadOp>(op)) {
      StringRef name = train::userName(train::lookupVariable(read, read.getVariableAttr()));
      diagnostic.attachNote(read.getLoc()) << "it depends on parameter @" << name;
      diagnostic.attachNote(step.getLoc()) << "hint: freeze the parameters before it (--freeze=REGEX, here '" << name
                                           << "'), or replace the op by ones that have a gradient";
      return;
    }
    if (length < 8)
      diagnostic.attachNote(op->getLoc())
          << "on the path: '" << op->getName() << "' (" << locationName(op->getLoc()) << ")";
  }
}

void Differentiator::emitUpdates(OpBuilder &b) {
  DenseMap<Attribute, Value> byParameter;
  for (train::ReadOp read : block.getOps<train::ReadOp>()) {
    Value gradient = isTrained(read) ? mode.gradient(read.getValue()) : Value();
    if (!gradient)
      continue;
    Value &sum = byParameter[read.getVariableAttr()];
    if (sum)
      ++numUpdateSums;
    sum = sum ? graph::GraphBuilder(b, gradient.getLoc()).add(sum, gradient) : gradient;
  }
  train::VariableTable variables(step);
  for (FlatSymbolRefAttr parameter : step.getParameters().getAsRange<FlatSymbolRefAttr>()) {
    Value gradient = byParameter.lookup(parameter);
    StringRef name = train::userName(variables.lookup(parameter));
    if (!gradient) {
      emitWarning(step.getLoc()) << "the loss of step @" << step.getSymName() << " does not depend on parameter @"
                                 << name << ": it keeps its initial value";
      continue;
    }
    train::UpdateOp::create(b, NameLoc::get(b.getStringAttr(name)), parameter, gradient, /*skip=*/Value());
    ++numUpdates;
  }
}

LogicalResult Differentiator::run() {
  Operation *yield = block.getTerminator();
  if (yield->getNumOperands() == 0)
    return emitErrorWithHint(step.getLoc(), "step @" + step.getSymName() + " has no loss", "yield a scalar f32 first");
  Value loss = yield->getOperand(0);
  auto type = cast<RankedTensorType>(loss.getType());
  if (type.getRank() != 0 || !type.getElementType().isF32())
    return emitErrorWithHint(step.getLoc(), "the loss of step @" + step.getSymName() + " is not tensor<f32>",
                             "attach the loss with mpc-attach-loss, which reduces and casts it");
  trained.insert_range(step.getParameters());
  for (train::ReadOp read : block.getOps<train::ReadOp>())
    if (isTrained(read))
      mode.addSource(read.getValue());
  mode.findActive();
  mode.findPath(loss);

  OpBuilder b(yield);
  Operation *lastForward = yield->getPrevNode();
  if (mode.isActive(loss))
    mode.seed(loss, train::SeedOp::create(b, loss.getLoc(), type), b);
  if (failed(mode.run(b, [&](InFlightDiagnostic &diagnostic, Operation *op) { notePath(diagnostic, op); })))
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
      numVjps += differentiator.numVjps();
      numSums += differentiator.numSums();
      numUpdates += differentiator.numUpdates;
    }
    // Later passes only compute values, and the value of a gradient stop is its operand.
    getOperation().walk([](graph::StopGradientOp stop) {
      stop.replaceAllUsesWith(stop.getX());
      stop.erase();
    });
  }
};

} // namespace
