// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/Reuse.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Graph/IR/Storage.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

/// Returns for each dimension of a shape with an element for each point whether it lies in a reduced run; nullopt where
/// a dimension lies in several runs.
static std::optional<SmallVector<bool>> reducedDims(ArrayRef<int64_t> shape, const Space &space) {
  SmallVector<bool> reduced(shape.size(), false);
  ArrayRef<Run> runs = space.runs;
  int64_t left = runs.empty() ? 1 : runs.back().extent;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 1)
      continue;
    while (left == 1 && !runs.empty()) {
      runs = runs.drop_back();
      left = runs.empty() ? 1 : runs.back().extent;
    }
    if (runs.empty() || left % shape[dim] != 0)
      return std::nullopt;
    reduced[dim] = runs.back().reduced;
    left /= shape[dim];
  }
  return reduced;
}

/// Returns whether the operand has an element for each row, and each point of the result depends on that of its row.
static bool followsRows(OpOperand &operand, OpResult result, const Space &space) {
  if (countOf(operand.get()) != space.rows() || countOf(result) != space.points())
    return false;
  std::optional<SmallVector<bool>> reduced = reducedDims(graph::shapeOf(result), space);
  if (!reduced)
    return false;
  // The dimensions of the operand are the kept ones of the result, in their order.
  int64_t next = 0;
  auto skipReduced = [&] {
    while (next < int64_t(reduced->size()) && ((*reduced)[next] || graph::shapeOf(result)[next] == 1))
      ++next;
  };
  auto op = cast<IndexingOpInterface>(operand.getOwner());
  for (auto [dim, extent] : llvm::enumerate(graph::shapeOf(operand.get()))) {
    if (extent == 1)
      continue;
    skipReduced();
    if (op.followingDim(operand, result, int64_t(dim)) != next)
      return false;
    ++next;
  }
  skipReduced();
  return next == int64_t(reduced->size());
}

ReadAnalysis::ReadAnalysis(DispatchOp dispatch, const Space &space) {
  Block &body = dispatch.getBody().front();
  for (Value v : dispatch.yielded()) {
    if (countOf(v) == 0)
      continue;
    if (StoredParts joined(v, space.points()); joined) {
      for (Value part : joined.parts)
        add(part, {Reads::Point, /*insideRows=*/true});
      continue;
    }
    bool everyPoint = countOf(v) == space.points();
    add(v, {everyPoint ? Reads::Point : Reads::Row, everyPoint});
  }
  for (Operation &op : llvm::reverse(body.without_terminator()))
    addOperands(&op, space);
}

void ReadAnalysis::add(Value v, Need need) {
  Need &known = needs[v];
  known.insideRows |= need.insideRows;
  if (known.reads == Reads::Nothing)
    known.reads = need.reads;
  else if (need.reads != Reads::Nothing && need.reads != known.reads)
    known.reads = Reads::Elsewhere;
}

void ReadAnalysis::addOperands(Operation *op, const Space &space) {
  bool combines = combinesElements(op);
  auto indexed = dyn_cast<IndexingOpInterface>(op);
  for (OpResult result : op->getResults()) {
    Need need = needs.lookup(result);
    if (need.reads == Reads::Nothing)
      continue;
    if (combines) {
      regular &= need.reads == Reads::Row;
      add(op->getOperand(0), {Reads::Point, /*insideRows=*/true});
      continue;
    }
    for (OpOperand &operand : op->getOpOperands()) {
      if (indexed && !indexed.dependsOn(operand, result))
        continue;
      Need its{Reads::Elsewhere, need.insideRows};
      if (need.reads != Reads::Elsewhere && indexed && keepsNumbers(operand, result))
        its.reads = need.reads;
      else if (need.reads == Reads::Point && indexed && followsRows(operand, result, space))
        its.reads = Reads::Row;
      add(operand.get(), its);
    }
  }
}

bool mpc::kernel::isRegular(DispatchOp dispatch) {
  if (dispatch.computesNothing())
    return true;
  std::optional<Space> space = Space::of(dispatch);
  return space && ReadAnalysis(dispatch, *space).isRegular();
}

/// In a batch a result may take over an input that only its member reads, and that the member has as an
/// input only once.
static Reuses reusesInBatch(DispatchOp batch) {
  SmallVector<int> readers(batch.getInputs().size());
  for (DispatchOp member : batch.members())
    for (Value input : member.getInputs())
      ++readers[cast<BlockArgument>(input).getArgNumber()];
  Reuses reuses;
  for (DispatchOp member : batch.members())
    for (const auto &inputs : reusableInputs(member)) {
      SmallVector<int64_t> &outer = reuses.emplace_back();
      for (int64_t input : inputs)
        if (unsigned position = cast<BlockArgument>(member.getInputs()[input]).getArgNumber(); readers[position] == 1)
          outer.push_back(position);
    }
  return reuses;
}

Reuses mpc::kernel::reusableInputs(DispatchOp dispatch) {
  if (dispatch.isBatch())
    return reusesInBatch(dispatch);
  Reuses reuses(dispatch.getNumResults());
  bool isProduct = dispatch.isContraction() || dispatch.isAttention();
  std::optional<Space> space = isProduct ? std::nullopt : Space::of(dispatch);
  if (!space)
    return reuses;
  ReadAnalysis reads(dispatch, *space);
  if (!reads.isRegular())
    return reuses;
  bool threadsShareRows = gpuOf(dispatch);
  for (auto [result, inputs] : llvm::zip_equal(dispatch.getResults(), reuses)) {
    bool everyPoint = countOf(result) == space->points();
    bool inParts = bool(StoredParts(dispatch.yielded()[result.getResultNumber()], space->points()));
    for (BlockArgument input : dispatch.getBody().getArguments()) {
      // The thread that writes a row's result may be one of many that read the row's input.
      // A part of a result lies at other places than the points.
      bool safe = everyPoint ? reads.of(input) == Reads::Point
                             : !inParts && reads.of(input) == Reads::Row &&
                                   !(threadsShareRows && reads.isReadInsideRows(input));
      if ((safe || reads.of(input) == Reads::Nothing) && graph::sameCells(input.getType(), result.getType()))
        inputs.push_back(input.getArgNumber());
    }
  }
  return reuses;
}

bool mpc::kernel::readsTwice(DispatchOp dispatch, Value storage) {
  return llvm::count_if(dispatch.getInputs(), [&](Value input) { return graph::storageOf(input) == storage; }) > 1;
}
