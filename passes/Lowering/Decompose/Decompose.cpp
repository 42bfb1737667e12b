//===- Decompose.cpp - the pass ----------------------------------------------------===//
#include "passes/Lowering/Decompose/Decompositions.h"
#include "passes/Lowering/Decompose/Passes.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "passes/Lowering/Decompose/Passes.h.inc"
} // namespace mpc

/// A scatter-add in f16 would round at every addition: in f32, between casts.
static llvm::SmallVector<Value> widen(graph::GatherGradOp op, GraphFormula f) {
  Type element = graph::elementOf(op.getDx());
  if (!graph::isLowPrecision(element))
    return {};
  Value dy = f.up(op.getDy());
  Value dx = graph::GatherGradOp::create(f.b, f.loc, graph::typeOf(op.getDx()).clone(graph::elementOf(dy)), dy, op.getIndices(), op.getAxis());
  return {f.down(dx, element)};
}

namespace {
struct Decompose : mpc::impl::DecomposePassBase<Decompose> {
  using DecomposePassBase::DecomposePassBase;

  void runOnOperation() override {
    llvm::SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_nonnull<graph::GraphDialect>(op->getDialect()))
        ops.push_back(op);
    });
    OpBuilder b(&getContext());
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      GraphFormula f{b, op->getLoc()};
      llvm::SmallVector<Value> values = replacement(op, f);
      if (values.empty())
        continue;
      op->replaceAllUsesWith(values);
      op->erase();
      ++numDecomposed;
    }
    if (!split)
      return;
    ops.clear();
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (splitReduction(op, b))
        ++numSplit;
  }

  static llvm::SmallVector<Value> replacement(Operation *op, GraphFormula f) {
    if (auto x = dyn_cast<graph::SoftmaxOp>(op))
      return decompose(x, f);
    if (auto x = dyn_cast<graph::LogSoftmaxOp>(op))
      return decompose(x, f);
    if (auto x = dyn_cast<graph::NllLossOp>(op))
      return decompose(x, f);
    if (auto x = dyn_cast<graph::SoftmaxCrossEntropyOp>(op))
      return decompose(x, f);
    if (auto x = dyn_cast<graph::BatchNormOp>(op))
      return decompose(x, f);
    if (auto x = dyn_cast<graph::BatchNormGradOp>(op))
      return decompose(x, f);
    if (auto x = dyn_cast<graph::BatchNormInferenceOp>(op))
      return decompose(x, f);
    if (auto x = dyn_cast<graph::GatherGradOp>(op))
      return widen(x, f);
    return {};
  }
};
} // namespace
