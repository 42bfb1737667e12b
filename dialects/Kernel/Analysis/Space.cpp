// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

int64_t kernel::countOf(Value tensor) { return graph::typeOf(tensor).getNumElements(); }

int64_t Space::points() const {
  int64_t count = 1;
  for (Run run : runs)
    count *= run.extent;
  return count;
}

int64_t Space::rows() const {
  int64_t count = 1;
  for (Run run : runs)
    count *= run.reduced ? 1 : run.extent;
  return count;
}

SmallVector<Run> Space::runsOf(ReductionOpInterface reduction) {
  SmallVector<Run> runs;
  for (auto [dim, extent] : llvm::enumerate(graph::shapeOf(reduction->getOperand(0)))) {
    bool reduced = llvm::is_contained(reduction.getAxes(), int64_t(dim));
    if (extent == 1)
      continue;
    if (!runs.empty() && runs.back().reduced == reduced)
      runs.back().extent *= extent;
    else
      runs.push_back({extent, reduced});
  }
  return runs;
}

bool mpc::kernel::combinesElements(Operation *op) {
  return isOfKind(op, LoopKind::Reduction) && countOf(op->getOperand(0)) > countOf(op->getResult(0));
}

/// Returns at how many points a dispatch without reductions computes its results: as many as its smallest result has
/// elements, or as the parts of its concatenations have where it stores several of these and nothing else.
static int64_t pointsOf(DispatchOp dispatch) {
  SmallVector<Value> stored = llvm::filter_to_vector(dispatch.yielded(), [](Value v) { return countOf(v) > 0; });
  if (stored.empty())
    return 1;
  if (auto concat = stored[0].getDefiningOp<graph::ConcatOp>(); concat && stored.size() > 1) {
    int64_t points = countOf(concat.getInputs().front());
    if (llvm::all_of(stored, [&](Value v) { return bool(StoredParts(v, points)); }))
      return points;
  }
  return *llvm::min_element(llvm::map_range(stored, countOf));
}

std::optional<Space> Space::of(DispatchOp dispatch) {
  Block &body = dispatch.getBody().front();
  auto yielded = llvm::make_filter_range(dispatch.yielded(), [](Value v) { return countOf(v) > 0; });
  ReductionOpInterface largest;
  for (Operation &op : body) {
    if (isOfKind(&op, LoopKind::Scatter))
      return std::nullopt;
    if (combinesElements(&op) && (!largest || countOf(op.getOperand(0)) > countOf(largest->getOperand(0))))
      largest = cast<ReductionOpInterface>(op);
  }
  Space space;
  if (largest)
    space.runs = runsOf(largest);
  else if (int64_t points = pointsOf(dispatch); points != 1)
    space.runs = {{points, false}};
  for (Operation &op : body)
    if (combinesElements(&op) && runsOf(cast<ReductionOpInterface>(op)) != space.runs)
      return std::nullopt;
  for (Value v : yielded)
    if (countOf(v) != space.points() && countOf(v) != space.rows() &&
        (space.hasReductions() || !StoredParts(v, space.points())))
      return std::nullopt;
  return space;
}

StoredParts::StoredParts(Value result, int64_t points) {
  auto concat = result.getDefiningOp<graph::ConcatOp>();
  if (concat && concat.getInputs().size() > 1 &&
      llvm::all_of(concat.getInputs(), [&](Value v) { return countOf(v) == points; })) {
    parts = concat.getInputs();
    axis = int64_t(concat.getAxis());
  }
}

IndexVector StoredParts::place(size_t i, IndexVector index) const {
  index[axis] = index[axis] + Index(int64_t(i) * graph::shapeOf(parts[i])[axis]);
  return index;
}

bool StoredParts::in(DispatchOp dispatch) {
  std::optional<Space> space = Space::of(dispatch);
  return space && !space->hasReductions() &&
         llvm::any_of(dispatch.yielded(), [&](Value v) { return bool(StoredParts(v, space->points())); });
}
