//===- Plan.cpp - what a dispatch computes, and the loops that it has ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/LoopPlan/Plan.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/LoopRules.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using kernel::Walk;

int64_t mpc::iterations(ArrayRef<LoopVar> loops) {
  int64_t count = 1;
  for (const LoopVar &loop : loops)
    count *= loop.extent;
  return count;
}

int64_t Plan::keptCount() const {
  int64_t count = 1;
  for (const kernel::Dim &dim : factors)
    count *= dim.reduced ? 1 : dim.extent;
  return count;
}
int64_t Plan::reducedCount() const {
  int64_t count = 1;
  for (const kernel::Dim &dim : factors)
    count *= dim.reduced ? dim.extent : 1;
  return count;
}

LoopVar *Plan::neighbourLoop() {
  llvm::SmallVector<LoopVar> &loops = walk == Walk::Rows ? reduced : kept;
  return !loops.empty() && kernel::hasNeighbours(walk, factors, loops.back().factors.back()) ? &loops.back() : nullptr;
}

//===-- Windows that overlap ---------------------------------------------------------------===//

/// Returns how many products an element of the op takes; 0 where it is no depthwise convolution or gradient of its
/// input.
static int64_t tapsOf(Operation *op) {
  if (auto conv = dyn_cast<graph::DepthwiseConvOp>(op))
    return llvm::product_of(conv.getKernel());
  int64_t taps = 0;
  if (auto gradient = dyn_cast<graph::DepthwiseInputGradOp>(op)) {
    taps = 1;
    for (auto [kernel, stride, dilation] :
         llvm::zip_equal(gradient.getKernel(), gradient.getStrides(), gradient.getDilations()))
      taps *= llvm::divideCeilSigned(dilation * (kernel - 1) + 1, stride);
  }
  return taps;
}

int64_t mpc::overlappingTaps(kernel::DispatchOp dispatch, ArrayRef<kernel::Dim> dims, const LoopVar &loop) {
  Block &body = dispatch.getBody().front();
  auto op = llvm::find_if(body, [](Operation &op) { return tapsOf(&op) > 0; });
  if (op == body.end() || tapsOf(&*op) > mostUnrolledTaps || loop.factors.size() != 1)
    return 0;
  int64_t stride = 1; // of the loop's dimension
  for (const kernel::Dim &dim : dims.drop_front(loop.factors[0] + 1))
    stride *= dim.extent;
  OpResult y = op->getResult(0);
  ArrayRef<int64_t> shape = graph::shapeOf(y);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == dims[loop.factors[0]].extent && llvm::product_of(shape.drop_front(d + 1)) == stride) {
      std::optional<ReadRange> read = cast<IndexingOpInterface>(*op).readRange(op->getOpOperand(0), y, int64_t(d));
      return read && read->span == 1 ? 0 : tapsOf(&*op);
    }
  return 0;
}

//===-- What a dispatch computes -----------------------------------------------------------===//

FailureOr<Plan> mpc::planDispatch(kernel::DispatchOp dispatch) {
  Plan plan;
  plan.form = dispatch.getForm();
  Block &body = dispatch.getBody().front();
  ValueRange yielded = dispatch.yielded();
  if (dispatch.computesNothing())
    return plan; // there is nothing to walk over
  for (Operation &op : body.without_terminator()) {
    bool ownLoops = kernel::combinesElements(&op) || (!plan.walksSpace() && isOfKind(&op, LoopKind::Scatter));
    if (!ownLoops &&
        !isa<ElementalOpInterface>(op)) // elemental ops are computed for each element wherever they are used
      return emitErrorWithHint(
          op.getLoc(), "'" + op.getName().getStringRef() + "' op cannot be in a loop dispatch",
          "composite ops need mpc-decompose first; matmul and convolutions need a dispatch of the form contraction");
  }
  if (!plan.walksSpace())
    return plan;
  std::optional<llvm::SmallVector<kernel::Dim>> dims = kernel::dimsOf(dispatch);
  if (!dims)
    return emitErrorWithHint(dispatch.getLoc(),
                             "this dispatch has no iteration space that its reductions and results share",
                             "verify it where it is made (kernel::createLoops)");
  plan.factors = *dims;
  for (auto [i, dim] : llvm::enumerate(plan.factors))
    (dim.reduced ? plan.reduced : plan.kept).push_back({{SymbolId(i)}, dim.extent});

  // A reduction's stage comes after every reduction that its operand depends on.
  llvm::DenseMap<Value, unsigned> depth;
  for (Operation &op : body.without_terminator()) {
    unsigned after = 0;
    for (Value v : op.getOperands())
      after = std::max(after, depth.lookup(v));
    if (kernel::combinesElements(&op)) {
      plan.stages.resize(std::max<size_t>(plan.stages.size(), after + 1));
      plan.stages[after++].push_back(&op);
    }
    for (Value v : op.getResults())
      depth[v] = after;
  }
  int64_t points = plan.keptCount() * plan.reducedCount();
  for (auto [i, v] : llvm::enumerate(yielded))
    if (int64_t count = kernel::countOf(v))
      (count == points || kernel::StoredParts(v, points) ? plan.fullResults : plan.rowResults).push_back(i);
  return plan;
}

//===-- The loops that it has --------------------------------------------------------------===//

FailureOr<Plan> mpc::readPlan(kernel::DispatchOp dispatch) {
  FailureOr<Plan> plan = planDispatch(dispatch);
  if (failed(plan) || !plan->walksSpace())
    return plan;
  kernel::LoopsAttr loops = dispatch.getLoopsAttr();
  if (!loops)
    return emitErrorWithHint(dispatch.getLoc(), "dispatch '" + dispatch.getName() + "' has no loops",
                             "run mpc-plan-loops first");
  plan->walk = loops.getWalk();
  plan->kept.clear(), plan->reduced.clear();
  for (const kernel::Loop &loop : loops.getOrder()) {
    LoopVar var{.factors = {}, .extent = 1, .tile = loop.tile};
    for (int64_t dim = loop.first; dim <= loop.last(); ++dim) {
      var.factors.push_back(SymbolId(dim));
      var.extent *= plan->factors[dim].extent;
    }
    (plan->factors[loop.first].reduced ? plan->reduced : plan->kept).push_back(std::move(var));
  }
  plan->parallel = loops.getParallel();
  plan->vector = loops.getVector();
  if (!loops.getThreads().empty()) {
    plan->threadRows = loops.getThreads()[0];
    plan->threadColumns = loops.getThreads()[1];
  }
  plan->unroll = loops.getUnroll();
  plan->cuts.assign(loops.getCuts().begin(), loops.getCuts().end());
  return plan;
}
