// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/Gradients/ReverseMode.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

static bool isFloatTensor(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && isa<FloatType>(type.getElementType());
}

void ReverseMode::findActive() {
  for (Operation &op : block)
    if (!op.hasTrait<ZeroGradient>() && llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
      for (Value result : op.getResults())
        if (isFloatTensor(result))
          active.insert(result);
}

void ReverseMode::findPath(ValueRange to) {
  llvm::DenseSet<Value> reaching(llvm::from_range, to);
  for (Operation &op : llvm::reverse(block)) {
    if (!llvm::any_of(op.getResults(), [&](Value v) { return reaching.contains(v) && active.contains(v); }))
      continue;
    reaching.insert_range(op.getOperands());
    // The gradient of a source, as a parameter that is read, is asked for and not passed on.
    if (llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
      onPath.push_back(&op);
  }
  std::reverse(onPath.begin(), onPath.end());
}

void ReverseMode::contribute(Value to, Value gradient, OpBuilder &b) {
  Value &sum = gradients[to];
  if (!sum) {
    sum = gradient;
    return;
  }
  sum = GraphBuilder(b, gradient.getLoc()).add(sum, gradient);
  ++numSums;
}

LogicalResult ReverseMode::differentiate(Operation *op, OpBuilder &b, Explain explain) {
  SmallVector<Value> cotangents;
  for (Value result : op->getResults())
    cotangents.push_back(gradients.lookup(result));
  if (llvm::none_of(cotangents, [](Value v) { return bool(v); }))
    return success();
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(active.contains(operand));

  VjpContext context(op, b, cotangents, needed, adaptContribution);
  if (failed(cast<DifferentiableOpInterface>(op).buildVjp(context))) {
    // The op has already said why; this error says what needs its gradient.
    InFlightDiagnostic diagnostic = emitError(op->getLoc())
                                    << "'" << op->getName() << "' (" << locationName(op->getLoc())
                                    << ") is on the path from the loss to a parameter";
    explain(diagnostic, op);
    return failure();
  }
  ++numVjps;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (Value gradient = needed[i] ? context.gradient(i) : Value())
      contribute(operand, gradient, b);
  return success();
}

LogicalResult ReverseMode::run(OpBuilder &b, Explain explain) {
  LogicalResult result = success();
  for (Operation *op : onPath) {
    if (isa<DifferentiableOpInterface>(op))
      continue;
    InFlightDiagnostic diagnostic = emitError(op->getLoc()) << "'" << op->getName() << "' ("
                                                            << locationName(op->getLoc()) << ") has no gradient";
    if (auto stated = dyn_cast<NoGradientOpInterface>(op))
      diagnostic << ": " << stated.getNoGradientReason();
    explain(diagnostic, op);
    result = failure();
  }
  if (failed(result))
    return failure();
  // Every failure is reported, not only the first.
  for (Operation *op : llvm::reverse(onPath))
    if (failed(differentiate(op, b, explain)))
      result = failure();
  return result;
}
