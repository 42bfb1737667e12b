// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/Dims.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Form.h"
#include <set>

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

SpaceNumbers::SpaceNumbers(ArrayRef<Dim> dims) {
  int64_t stride = 1, rowStride = 1;
  for (SymbolId i = dims.size(); i-- > 0; stride *= dims[i].extent) {
    point = point + Index::symbol(i, stride);
    if (dims[i].reduced)
      continue;
    row = row + Index::symbol(i, rowStride);
    rowStride *= dims[i].extent;
  }
}

/// Collects the cuts of the row-major order (products of trailing dimensions) of `v` and of every value that `v` is
/// computed from in that order.
static void collectCuts(Value v, int64_t points, llvm::DenseSet<Value> &seen, std::set<int64_t> &cuts) {
  SmallVector<Value> left = {v};
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (countOf(next) != points || !seen.insert(next).second)
      continue;
    int64_t cut = 1;
    for (int64_t extent : llvm::reverse(graph::shapeOf(next)))
      cuts.insert(cut *= extent);
    if (Operation *op = next.getDefiningOp();
        op && (isOfKind(op, LoopKind::Elementwise) || isOfKind(op, LoopKind::View)))
      llvm::append_range(left, op->getOperands());
  }
}

/// Adds as many of `wanted` to a chain of cuts as keep it a chain, in which each divides the next.
static void addCuts(SmallVector<int64_t> &chain, const std::set<int64_t> &wanted) {
  for (int64_t cut : wanted)
    if (!llvm::is_contained(chain, cut) &&
        llvm::all_of(chain, [&](int64_t other) { return other % cut == 0 || cut % other == 0; }))
      chain.push_back(cut);
  llvm::sort(chain);
}

int64_t kernel::periodOf(DispatchOp dispatch) {
  int64_t period = 1;
  for (Operation &op : dispatch.getBody().front())
    if (auto indexed = dyn_cast<IndexingOpInterface>(op))
      period = std::max(period, indexed.getPeriod());
  std::optional<Space> space = Space::of(dispatch);
  return space && space->points() < period ? 1 : period;
}

std::optional<SmallVector<Dim>> kernel::dimsOf(DispatchOp dispatch) {
  if (dispatch.getForm() == Form::TransposedCopy) {
    std::optional<TransposedCopy> copy = TransposedCopy::of(dispatch);
    if (!copy)
      return std::nullopt;
    ArrayRef<int64_t> shape = copy->shape;
    return SmallVector<Dim>{
        {llvm::product_of(shape.drop_back(2)), false}, {shape[shape.size() - 2], false}, {shape.back(), false}};
  }
  std::optional<Space> space = Space::of(dispatch);
  if (!space)
    return std::nullopt;
  int64_t points = space->points();
  SmallVector<int64_t> chain = {1};
  for (Run run : llvm::reverse(space->runs))
    chain.push_back(chain.back() * run.extent);

  std::set<int64_t> wanted;
  llvm::DenseSet<Value> seen;
  auto reductions =
      llvm::make_filter_range(dispatch.getBody().front(), [](Operation &op) { return combinesElements(&op); });
  bool reduces = !reductions.empty();
  if (reduces)
    collectCuts((*reductions.begin()).getOperand(0), points, seen, wanted);
  for (Value v : dispatch.yielded())
    if (StoredParts joined(v, points); joined)
      collectCuts(joined.parts.front(), points, seen, wanted); // all have one shape
    else
      collectCuts(v, points, seen, wanted);
  addCuts(chain, wanted);
  // The cut between neighbours comes last, so that it is made only where it fits the cuts of the shapes.
  if (int64_t period = periodOf(dispatch); period > 1 && !reduces)
    addCuts(chain, {period});

  // A dimension lies between two neighbouring cuts.
  size_t run = space->runs.size();
  int64_t outer = 1;
  SmallVector<Dim> innermostFirst;
  for (size_t i = 1; i < chain.size(); ++i) {
    if (outer == chain[i - 1] && run > 0)
      outer *= space->runs[--run].extent;
    innermostFirst.push_back({chain[i] / chain[i - 1], run < space->runs.size() && space->runs[run].reduced});
  }
  return SmallVector<Dim>(llvm::reverse(innermostFirst));
}
