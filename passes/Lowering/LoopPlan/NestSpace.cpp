//===- NestSpace.cpp - indices, stages and stores at a point of the space ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/LoopPlan/NestSpace.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

NestSpace::NestSpace(const Plan &plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results, ElementEmitter &e)
    : plan(plan), results(results), e(e), yielded(dispatch.yielded()) {
  for (const kernel::Dim &f : plan.factors)
    e.addSymbol(f.extent);
  kernel::SpaceNumbers numbers(plan.factors);
  space = numbers.point, keptSpace = numbers.row;
}

IndexVector NestSpace::indexOf(Value tensor, const Index &linear) {
  return e.delinearize(linear, graph::shapeOf(tensor));
}

NestSpace::Values NestSpace::loops(ArrayRef<LoopVar> vars, ArrayRef<Value> init,
                                   llvm::function_ref<Values(ArrayRef<Value>)> body) {
  if (vars.empty())
    return body(init);
  return e.loop(vars.front().extent, init, [&](Value iv, ValueRange carried) {
    bind(vars.front(), iv);
    return loops(vars.drop_front(), Values(carried), body);
  });
}

void NestSpace::loops(ArrayRef<LoopVar> vars, llvm::function_ref<void()> body) {
  loops(vars, {}, [&](ArrayRef<Value>) { return body(), Values(); });
}

//===-- Reductions ------------------------------------------------------------------------===//

Value NestSpace::reducedElement(Operation *reduction) {
  return e.element(reduction->getOperand(0), indexOf(reduction->getOperand(0), space));
}

NestSpace::Values NestSpace::stageInit(ArrayRef<Operation *> stage) {
  Values init;
  for (Operation *op : stage)
    init.push_back(reductionInit(op, e));
  return init;
}

NestSpace::Values NestSpace::stageStep(ArrayRef<Operation *> stage, ArrayRef<Value> accumulators) {
  Values next;
  for (auto [op, accumulator] : llvm::zip_equal(stage, accumulators))
    next.push_back(reductionStep(op, accumulator, reducedElement(op), e, /*mayReorder=*/true));
  return next;
}

void NestSpace::define(Operation *reduction, Value value) {
  IndexVector index;
  ArrayRef<int64_t> axes = cast<ReductionOpInterface>(reduction).getAxes();
  bool keepdims = cast<ReductionOpInterface>(reduction).getKeepdims();
  for (auto [d, i] : llvm::enumerate(indexOf(reduction->getOperand(0), space))) {
    if (!llvm::is_contained(axes, int64_t(d)))
      index.push_back(i);
    else if (keepdims)
      index.push_back(Index(0));
  }
  e.define(reduction->getResult(0), index, value);
}

bool NestSpace::storesBesideLastStage() {
  if (plan.fullResults.empty() || plan.stages.empty())
    return false;
  llvm::SmallPtrSet<Operation *, 8> last(llvm::from_range, plan.stages.back());
  llvm::SetVector<Operation *> cone;
  for (unsigned r : plan.fullResults)
    cone.insert(yielded[r].getDefiningOp());
  for (Operation *op : plan.stages.back())
    cone.insert(op->getOperand(0).getDefiningOp());
  for (size_t i = 0; i < cone.size(); ++i) {
    Operation *op = cone[i];
    if (!op)
      continue;
    bool isEarlier = isOfKind(op, LoopKind::Reduction) && !last.contains(op);
    if (!isEarlier && !isOfKind(op, LoopKind::Elementwise) && !isOfKind(op, LoopKind::Generator) &&
        !isOfKind(op, LoopKind::Broadcast))
      return false;
    if (!isEarlier) // an earlier one is a number by now
      for (Value v : op->getOperands())
        cone.insert(v.getDefiningOp());
  }
  return true;
}

void NestSpace::row() {
  bool storesEarly = storesBesideLastStage();
  for (auto [number, stage] : llvm::enumerate(plan.stages)) {
    Values sums = loops(plan.reduced, stageInit(stage), [&, number = number, &stage = stage](ArrayRef<Value> carried) {
      Values next = stageStep(stage, carried);
      if (storesEarly && number + 1 == plan.stages.size())
        storeResults(plan.fullResults, space);
      return next;
    });
    for (auto [op, sum] : llvm::zip_equal(stage, sums))
      define(op, reductionFinish(op, sum, e));
  }
  if (!plan.fullResults.empty() && !storesEarly)
    loops(plan.reduced, [&] { storeResults(plan.fullResults, space); });
  storeResults(plan.rowResults, keptSpace);
}

//===-- Results -----------------------------------------------------------------------------===//

llvm::SmallVector<NestSpace::Element> NestSpace::elementsAt(ArrayRef<unsigned> positions, const Index &linear) {
  llvm::SmallVector<Element> elements;
  for (unsigned r : positions) {
    kernel::StoredParts joined(yielded[r], plan.keptCount());
    if (!joined || plan.reduces()) {
      elements.push_back({r, linear, e.element(yielded[r], indexOf(yielded[r], linear))});
      continue;
    }
    for (auto [i, part] : llvm::enumerate(joined.parts)) {
      IndexVector index = indexOf(part, linear);
      Index place = e.linearize(joined.place(i, index), graph::shapeOf(yielded[r]));
      elements.push_back({r, place, e.element(part, index)});
    }
  }
  return elements;
}

void NestSpace::storeResults(ArrayRef<unsigned> positions, const Index &linear) {
  // All values are computed before the first store: a result may share the buffer of an operand that another
  // result reads at the same index.
  for (const Element &element : elementsAt(positions, linear))
    store(element);
}

void NestSpace::storeNeighbours(int64_t n) {
  if (n == 1)
    return storeResults(plan.fullResults, space);
  Index first = space - Index::symbol(SymbolId(plan.factors.size() - 1));
  for (int64_t i = 0; i < n; ++i)
    storeResults(plan.fullResults, first + Index(i));
}
