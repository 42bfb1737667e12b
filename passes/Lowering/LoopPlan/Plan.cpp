//===- Plan.cpp - classification and the iteration space ------------------------===//
#include "passes/Lowering/LoopPlan/Plan.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include <set>

using namespace mlir;
using namespace mpc;

int64_t Plan::neighbours() const {
  bool fits = form == kernel::Form::Pointwise && !kept.empty() && kept.back().extent == unroll &&
              kept.back().factors.size() == 1;
  return fits ? unroll : 1;
}

int64_t Plan::keptCount() const {
  int64_t n = 1;
  for (const Factor &f : factors)
    n *= f.reduced ? 1 : f.extent;
  return n;
}
int64_t Plan::reducedCount() const {
  int64_t n = 1;
  for (const Factor &f : factors)
    n *= f.reduced ? f.extent : 1;
  return n;
}

void Plan::resetLoops() {
  kept.clear(), reduced.clear();
  for (auto [i, f] : llvm::enumerate(factors))
    (f.reduced ? reduced : kept).push_back({{SymbolId(i)}, f.extent});
}

void Plan::mergeLoops(ArrayRef<Index> forms) {
  for (auto *vars : {&kept, &reduced}) {
    llvm::SmallVector<LoopVar> merged;
    for (LoopVar &var : *vars) {
      SymbolId inner = var.factors.front();
      bool joins = !merged.empty() && llvm::all_of(forms, [&](const Index &form) {
        return form.coefficient(merged.back().factors.back()) == factors[inner].extent * form.coefficient(inner);
      });
      if (!joins) {
        merged.push_back(var);
        continue;
      }
      merged.back().factors.push_back(inner);
      merged.back().extent *= var.extent;
    }
    *vars = merged;
  }
}

//===-- The space -------------------------------------------------------------------===//

static int64_t count(Value v) { return graph::typeOf(v).getNumElements(); }

/// Collects the cuts of the row-major order (products of trailing dimensions) of `v` and of every value that
/// `v` is computed from in that order.
static void collectCuts(Value v, int64_t total, llvm::DenseSet<Value> &seen, std::set<int64_t> &cuts) {
  if (count(v) != total || !seen.insert(v).second)
    return;
  int64_t cut = 1;
  for (int64_t n : llvm::reverse(graph::shapeOf(v))) {
    cut *= n;
    cuts.insert(cut);
  }
  Operation *op = v.getDefiningOp();
  if (!op || (!isOfKind(op, LoopKind::Elementwise) && !isOfKind(op, LoopKind::View)))
    return;
  for (Value operand : op->getOperands())
    collectCuts(operand, total, seen, cuts);
}

/// A chain of cuts, each of which divides the next: it has all of `required` and as many of `wanted` as fit.
static llvm::SmallVector<int64_t> divisorChain(ArrayRef<int64_t> required, const std::set<int64_t> &wanted) {
  llvm::SmallVector<int64_t> chain(required);
  for (int64_t cut : wanted) {
    bool fits = llvm::all_of(chain, [&](int64_t other) { return other % cut == 0 || cut % other == 0; });
    if (fits && !llvm::is_contained(chain, cut))
      chain.push_back(cut);
  }
  llvm::sort(chain);
  return chain;
}

/// The number of neighbours along the innermost dimension that share work, or after which the work repeats.
static int64_t repeatOf(Operation *op) {
  auto indexed = dyn_cast<IndexingOpInterface>(op);
  return indexed ? indexed.getPeriod() : 1;
}

FailureOr<Plan> mpc::planDispatch(kernel::DispatchOp dispatch) {
  Plan plan;
  plan.form = dispatch.getForm();
  Block &body = dispatch.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  if (dispatch.computesNothing())
    return plan; // there is nothing to walk over
  Operation *primary = nullptr;
  for (Operation &op : body.without_terminator()) {
    if (plan.form == kernel::Form::Scatter && isOfKind(&op, LoopKind::Scatter))
      continue;
    if (kernel::combinesElements(&op)) {
      primary = primary ? primary : &op;
    } else if (!isa<ElementalOpInterface>(op)) { // elemental ops are computed for each element wherever they are used
      return emitErrorWithHint(
          op.getLoc(), "'" + op.getName().getStringRef() + "' op cannot be in a loop dispatch",
          "composite ops need mpc-decompose first; matmul and convolutions need a dispatch of the form contraction");
    }
    plan.unroll = std::max(plan.unroll, repeatOf(&op));
  }
  if (!plan.walksSpace())
    return plan;
  std::optional<kernel::Space> space = kernel::Space::of(dispatch);
  if (!space)
    return emitErrorWithHint(dispatch.getLoc(),
                             "this dispatch has no iteration space that its reductions and results share",
                             "verify it where it is made (kernel::createLoops)");

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
  int64_t points = space->points();
  for (auto [i, v] : llvm::enumerate(yielded))
    if (count(v) > 0)
      (count(v) == points ? plan.fullResults : plan.rowResults).push_back(i);

  // A factor lies between two neighbouring cuts.
  llvm::SmallVector<int64_t> required = {1};
  for (kernel::Run run : llvm::reverse(space->runs))
    required.push_back(required.back() * run.extent);
  std::set<int64_t> wanted;
  llvm::DenseSet<Value> seen;
  if (primary)
    collectCuts(primary->getOperand(0), points, seen, wanted);
  for (unsigned i : plan.fullResults)
    collectCuts(yielded[i], points, seen, wanted);
  llvm::SmallVector<int64_t> chain = divisorChain(required, wanted);
  if (points < plan.unroll) // no element has neighbours
    plan.unroll = 1;
  // The cut between neighbours comes last, so that it is made only where it fits the cuts of the shapes.
  if (plan.unroll > 1 && !primary)
    chain = divisorChain(chain, {plan.unroll});
  size_t run = space->runs.size();
  int64_t outerCut = 1;
  llvm::SmallVector<Factor> innerFirst;
  for (size_t i = 1; i < chain.size(); ++i) {
    if (outerCut == chain[i - 1] && run > 0)
      outerCut *= space->runs[--run].extent;
    innerFirst.push_back({chain[i] / chain[i - 1], run < space->runs.size() && space->runs[run].reduced});
  }
  plan.factors.assign(innerFirst.rbegin(), innerFirst.rend());
  plan.resetLoops();
  return plan;
}
