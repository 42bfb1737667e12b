#include "passes/Training/EvalForm.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::training;

/// Calls `visit` with each batch norm statistic (result 1 or 2) that `v` is computed from, not looking
/// through the norms.
static void visitStatistics(Value v, function_ref<void(OpResult)> visit) {
  SetVector<Value> worklist;
  worklist.insert(v);
  for (size_t i = 0; i < worklist.size(); ++i) {
    Operation *op = worklist[i].getDefiningOp();
    if (!op)
      continue;
    if (isa<graph::BatchNormOp>(op)) {
      if (auto result = cast<OpResult>(worklist[i]); result.getResultNumber() > 0)
        visit(result);
      continue;
    }
    worklist.insert_range(op->getOperands());
  }
}

SmallVector<graph::BatchNormOp> training::normsBehind(Value assigned) {
  SmallVector<graph::BatchNormOp> norms;
  visitStatistics(assigned,
                  [&](OpResult result) { norms.push_back(cast<graph::BatchNormOp>(result.getOwner())); });
  return norms;
}

EvalFormCounts training::toEvalForm(EntryBuilder &entry) {
  EvalFormCounts counts;
  // The running variable of a statistic is the one that is assigned something made of the statistic.
  DenseMap<Value, FlatSymbolRefAttr> running;
  for (train::AssignOp assign : llvm::make_early_inc_range(entry.block().getOps<train::AssignOp>())) {
    visitStatistics(assign.getValue(), [&](OpResult statistic) {
      if (statistic.getType() == assign.getValue().getType())
        running.try_emplace(statistic, assign.getVariableAttr());
    });
    assign.erase();
  }
  for (graph::BatchNormOp norm : llvm::make_early_inc_range(entry.block().getOps<graph::BatchNormOp>())) {
    FlatSymbolRefAttr mean = running.lookup(norm.getMean()), variance = running.lookup(norm.getVariance());
    if (!mean || !variance) {
      counts.withoutStatistics.push_back(norm);
      continue;
    }
    OpBuilder b(norm);
    Location loc = norm.getLoc();
    Value meanValue = train::ReadOp::create(b, loc, norm.getMean().getType(), mean);
    Value varianceValue = train::ReadOp::create(b, loc, norm.getVariance().getType(), variance);
    Value y =
        graph::BatchNormInferenceOp::create(b, loc, norm.getX(), norm.getScale(), norm.getBias(), meanValue,
                                            varianceValue, norm.getEpsilonAttr(), norm.getAxisAttr());
    entry.replace(norm.getY(), y);
    entry.replace(norm.getMean(), meanValue);
    entry.replace(norm.getVariance(), varianceValue);
    norm.erase();
    ++counts.norms;
  }
  for (graph::DropoutOp dropout : llvm::make_early_inc_range(entry.block().getOps<graph::DropoutOp>())) {
    entry.replace(dropout.getY(), dropout.getX());
    dropout.erase();
    ++counts.dropouts;
  }
  return counts;
}
