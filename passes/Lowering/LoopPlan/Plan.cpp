//===- Plan.cpp - classification and the iteration space ------------------------===//
#include "passes/Lowering/LoopPlan/Plan.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include <set>

using namespace mlir;
using namespace mpc;

int64_t Plan::neighbours() const {
  bool fits = form == LoopForm::Pointwise && !kept.empty() && kept.back().extent == unroll &&
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
        return form.coefficient(merged.back().factors.back()) ==
               factors[inner].extent * form.coefficient(inner);
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

namespace {
/// Runs of dimensions, each wholly kept or wholly reduced. Two reductions run in one nest only where their
/// runs are equal.
using Signature = llvm::SmallVector<std::pair<int64_t, bool>>;
} // namespace

static Signature signatureOf(Operation *reduction) {
  ArrayRef<int64_t> axes = cast<ReductionOpInterface>(reduction).getAxes();
  Signature runs;
  for (auto [d, n] : llvm::enumerate(graph::shapeOf(reduction->getOperand(0)))) {
    bool reduced = llvm::is_contained(axes, int64_t(d));
    if (n == 1)
      continue;
    if (!runs.empty() && runs.back().second == reduced)
      runs.back().first *= n;
    else
      runs.push_back({n, reduced});
  }
  return runs;
}

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

FailureOr<Plan> mpc::planDispatch(kernel::DispatchOp dispatch, bool diagnose) {
  Plan plan;
  Block &body = dispatch.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  if (llvm::all_of(yielded, [](Value v) { return count(v) == 0; }))
    return plan; // there is nothing to walk over
  llvm::SmallVector<Operation *> reductions;
  for (Operation &op : body.without_terminator()) {
    std::optional<LoopKind> kind = loopKindOf(&op);
    if (kind == LoopKind::Scatter && yielded.size() == 1 && yielded[0].getDefiningOp() == &op) {
      plan.form = LoopForm::Special;
      continue;
    }
    if (kind == LoopKind::Reduction) {
      if (count(op.getOperand(0)) > count(op.getResult(0)))
        reductions.push_back(&op);
      continue;
    }
    if (isa<ElementalOpInterface>(op)) // it is computed for each element wherever it is used
      continue;
    if (diagnose)
      (void)emitErrorWithHint(
          op.getLoc(), "'" + op.getName().getStringRef() + "' op cannot be in a loop dispatch",
          "composite ops need mpc-decompose first; matmul and convolutions need a library dispatch");
    return failure();
  }
  if (plan.form == LoopForm::Special) {
    plan.irregular = !reductions.empty();
    return plan;
  }
  for (Operation &op : body)
    plan.unroll = std::max(plan.unroll, repeatOf(&op));

  // The space is that of the reduction with the largest operand, or of the results where there is no
  // reduction.
  Operation *primary = nullptr;
  for (Operation *op : reductions)
    if (!primary || count(op->getOperand(0)) > count(primary->getOperand(0)))
      primary = op;
  Signature signature;
  int64_t total = yielded.empty() ? 1 : count(yielded[0]);
  if (primary) {
    signature = signatureOf(primary);
    total = count(primary->getOperand(0));
  } else if (total > 1) {
    signature.push_back({total, false});
  }

  // A reduction's stage comes after every reduction of the nest that its operand depends on.
  llvm::DenseMap<Value, unsigned> depth;
  for (Operation &op : body.without_terminator()) {
    unsigned after = 0;
    for (Value v : op.getOperands())
      after = std::max(after, depth.lookup(v));
    if (llvm::is_contained(reductions, &op)) {
      if (signatureOf(&op) == signature) {
        plan.stages.resize(std::max<size_t>(plan.stages.size(), after + 1));
        plan.stages[after++].push_back(&op);
      } else {
        plan.irregular = true;
      }
    }
    for (Value v : op.getResults())
      depth[v] = after;
  }

  int64_t keptTotal = 1;
  for (auto [n, reduced] : signature)
    keptTotal *= reduced ? 1 : n;
  for (auto [i, v] : llvm::enumerate(yielded)) {
    if (primary && count(v) == keptTotal)
      plan.rowResults.push_back(i);
    else if (count(v) == total)
      plan.fullResults.push_back(i);
    else
      plan.irregular = true;
  }
  if (primary)
    plan.form = plan.fullResults.empty() ? LoopForm::Reduction : LoopForm::Row;

  // A factor lies between two neighbouring cuts.
  llvm::SmallVector<int64_t> required = {1};
  for (auto [n, reduced] : llvm::reverse(signature))
    required.push_back(required.back() * n);
  std::set<int64_t> wanted;
  llvm::DenseSet<Value> seen;
  if (primary)
    collectCuts(primary->getOperand(0), total, seen, wanted);
  for (unsigned i : plan.fullResults)
    collectCuts(yielded[i], total, seen, wanted);
  if (total < plan.unroll) // no element has neighbours
    plan.unroll = 1;
  if (plan.unroll > 1 && !primary)
    wanted.insert(plan.unroll); // inserted last, so that it is used only where it fits the shapes
  llvm::SmallVector<int64_t> chain = divisorChain(required, wanted);
  size_t run = signature.size();
  int64_t outerCut = 1;
  llvm::SmallVector<Factor> innerFirst;
  for (size_t i = 1; i < chain.size(); ++i) {
    if (outerCut == chain[i - 1] && run > 0)
      outerCut *= signature[--run].first;
    innerFirst.push_back({chain[i] / chain[i - 1], run < signature.size() && signature[run].second});
  }
  plan.factors.assign(innerFirst.rbegin(), innerFirst.rend());
  plan.resetLoops();
  return plan;
}
