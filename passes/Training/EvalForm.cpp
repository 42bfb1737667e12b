// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/EvalForm.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::training;

SmallVector<graph::BatchNormOp> training::normsBehind(Value assigned) {
  SmallVector<graph::BatchNormOp> norms;
  SetVector<Value> worklist;
  worklist.insert(assigned);
  for (size_t i = 0; i < worklist.size(); ++i) {
    Operation *op = worklist[i].getDefiningOp();
    if (!op)
      continue;
    if (auto norm = dyn_cast<graph::BatchNormOp>(op)) {
      if (worklist[i] != norm.getY())
        norms.push_back(norm);
      continue;
    }
    worklist.insert_range(op->getOperands());
  }
  return norms;
}

EvalFormCounts training::toEvalForm(EntryBuilder &entry) {
  EvalFormCounts counts;
  DenseMap<Attribute, Type> assigned; // the type of each variable
  for (train::AssignOp assign : llvm::make_early_inc_range(entry.block().getOps<train::AssignOp>())) {
    if (entry.carries(assign.getVariableAttr()))
      continue; // evaluation carries its state on, too
    assigned[assign.getVariableAttr()] = assign.getValue().getType();
    // What the network computes from a buffer's new value, it computes here from the stored one, as torch's modules do
    // in eval mode.
    if (auto barrier = assign.getValue().getDefiningOp<graph::BarrierOp>()) {
      OpBuilder b(barrier);
      entry.replace(barrier.getY(),
                    train::ReadOp::create(b, barrier.getLoc(), barrier.getY().getType(), assign.getVariableAttr()));
      assign.erase();
      barrier.erase();
      continue;
    }
    assign.erase();
  }
  for (graph::BatchNormOp norm : llvm::make_early_inc_range(entry.block().getOps<graph::BatchNormOp>())) {
    auto mean = norm->getAttrOfType<FlatSymbolRefAttr>(train::kRunningMeanAttr),
         variance = norm->getAttrOfType<FlatSymbolRefAttr>(train::kRunningVarianceAttr);
    // A variable that holds the statistic in another type is not what evaluation normalises by.
    if (!mean || !variance || assigned.lookup(mean) != norm.getMean().getType() ||
        assigned.lookup(variance) != norm.getVariance().getType()) {
      counts.withoutStatistics.push_back(norm);
      continue;
    }
    OpBuilder b(norm);
    Location loc = norm.getLoc();
    Value meanValue = train::ReadOp::create(b, loc, norm.getMean().getType(), mean);
    Value varianceValue = train::ReadOp::create(b, loc, norm.getVariance().getType(), variance);
    Value y = graph::BatchNormInferenceOp::create(b, loc, norm.getX(), norm.getScale(), norm.getBias(), meanValue,
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
  // mpc-recognize has taken the dropouts of attentions into them.
  for (graph::AttentionOp attention : entry.block().getOps<graph::AttentionOp>()) {
    if (!attention.getSeed())
      continue;
    attention.getSeedMutable().clear();
    attention.getStepMutable().clear();
    attention.removeRatioAttr();
    attention.removeSaltAttr();
    ++counts.dropouts;
  }
  return counts;
}
