// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/PerSample.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Training/SampleIndices.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

/// Returns whether a result depends on an operand at all. The statistics of a norm, for example,
/// do not depend on its scale; then only the other operands say where the result has its samples.
static bool mayDepend(OpOperand &operand, OpResult result) {
  auto indexed = dyn_cast<IndexingOpInterface>(operand.getOwner());
  return !indexed || indexed.dependsOn(operand, result);
}

PerSample::PerSample(Block &block, int64_t samples, function_ref<bool(BlockArgument)> batched,
                     function_ref<std::optional<int64_t>(Value)> below)
    : samples(samples) {
  for (BlockArgument argument : block.getArguments())
    if (batched(argument) && typeOf(argument).getRank() > 0 && samples > 0) {
      const int64_t rows = shapeOf(argument)[0];
      positions[argument] = rows > 0 && rows % samples == 0 ? Positions{{0, rows / samples}} : Positions();
    }
  for (Operation &op : block) {
    if (llvm::all_of(op.getOperands(), [&](Value v) { return fixed(v); }))
      continue;
    if (std::optional<Position> at = throughOwnIndices(op, below)) {
      positions[op.getResult(0)] = {*at};
      continue;
    }
    for (OpResult result : op.getResults()) {
      std::optional<Positions> common;
      for (OpOperand &operand : op.getOpOperands()) {
        if (fixed(operand.get()) || !mayDepend(operand, result))
          continue;
        Positions here;
        for (Position at : positions.lookup(operand.get()))
          for (Position then : through(operand, result, at))
            if (!llvm::is_contained(here, then) && (!common || llvm::is_contained(*common, then)))
              here.push_back(then);
        common = std::move(here);
      }
      if (common)
        positions[result] = std::move(*common);
    }
  }
}

bool PerSample::fixed(Value v) const { return !positions.contains(v); }

std::optional<PerSample::Position> PerSample::position(Value v) const {
  // A batch of one sample decides all that depends on it.
  if (samples == 1 && !fixed(v) && typeOf(v).getRank() > 0 && shapeOf(v)[0] > 0)
    return Position{0, shapeOf(v)[0]};
  Positions found = positions.lookup(v);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

bool PerSample::leads(Value v) const {
  return llvm::any_of(positions.lookup(v),
                      [&](Position at) { return at.dim == 0 && shapeOf(v)[0] == samples * at.inner; });
}

std::optional<int64_t> PerSample::dim(Value v) const {
  for (Position at : positions.lookup(v))
    if (at.inner == 1 && shapeOf(v)[at.dim] == samples)
      return at.dim;
  return std::nullopt;
}

static int64_t product(ArrayRef<int64_t> extents) {
  int64_t all = 1;
  for (int64_t extent : extents)
    all *= extent;
  return all;
}

/// In row-major order element l belongs to sample l / S % samples, where S = inner * (number of elements in one index
/// of dim). Let one index of dimension e have R elements. Then index i of e belongs to sample i / (S/R) % samples, if R
/// divides S, and samples * S/R divides the extent of e.
PerSample::Positions PerSample::throughReshape(Position at, ArrayRef<int64_t> from, ArrayRef<int64_t> to) const {
  Positions found;
  int64_t stride = at.inner * product(from.drop_front(at.dim + 1));
  for (int64_t e = 0, rank = int64_t(to.size()); e < rank && stride > 0; ++e) {
    int64_t rest = product(to.drop_front(e + 1));
    if (rest > 0 && stride % rest == 0 && to[e] % (samples * (stride / rest)) == 0)
      found.push_back({e, stride / rest});
  }
  return found;
}

std::optional<PerSample::Position>
PerSample::throughOwnIndices(Operation &op, function_ref<std::optional<int64_t>(Value)> below) const {
  auto gather = dyn_cast<GatherOp>(op);
  auto scatter = dyn_cast<ScatterOp>(op);
  if (!gather && !scatter)
    return std::nullopt;
  const int64_t axis = gather ? gather.getAxis() : scatter.getAxis();
  Value row = gather ? gather.getX() : scatter.getY(), indices = op.getOperand(1), sum = indices;
  while (sum.getDefiningOp<ReshapeOp>())
    sum = sum.getDefiningOp()->getOperand(0);
  auto placeOf = [&](int64_t inner) -> std::optional<Position> {
    auto follows = [&](Value term, int64_t dim) {
      return fixed(term) || llvm::is_contained(positions.lookup(term), Position{dim, 1});
    };
    if (inner <= 0 || samples <= 1 || shapeOf(row)[axis] % (samples * inner) != 0)
      return std::nullopt;
    std::optional<int64_t> dim = ownIndicesDim(sum, samples, inner, follows, below);
    Positions found = dim ? throughReshape({*dim, 1}, shapeOf(sum), shapeOf(indices)) : Positions();
    return found.size() == 1 ? std::optional(Position{axis + found[0].dim, found[0].inner}) : std::nullopt;
  };
  if (gather) {
    for (Position at : positions.lookup(row))
      if (at.dim == axis)
        return placeOf(at.inner);
    return std::nullopt;
  }
  const int64_t inner = shapeOf(row)[axis] / samples; // of the result, as many as of every other sample
  std::optional<Position> at = placeOf(inner);
  Value updates = scatter.getUpdates();
  return at && (fixed(updates) || llvm::is_contained(positions.lookup(updates), *at))
             ? std::optional(Position{axis, inner})
             : std::nullopt;
}

PerSample::Positions PerSample::through(OpOperand &operand, OpResult result, Position at) const {
  auto indexed = dyn_cast<IndexingOpInterface>(operand.getOwner());
  if (!indexed)
    return {};
  if (indexed.getLoopKind() == LoopKind::View)
    return throughReshape(at, shapeOf(operand.get()), shapeOf(result));
  std::optional<int64_t> dim = indexed.followingDim(operand, result, at.dim);
  return dim ? Positions{{*dim, at.inner}} : Positions();
}
