// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/Countable.h"
#include "dialects/Graph/IR/Graph.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdint>
#include <optional>

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;

/// The greatest number of a thread, and the greatest count of a loop in a thread, whose steps are at most a block.
static constexpr int64_t mostPoints = INT32_MAX, mostIterations = INT32_MAX - mostBlockThreads;

static LogicalResult verifyCount(DispatchOp dispatch, int64_t count, int64_t most, const Twine &what, StringRef hint) {
  if (count <= most)
    return success();
  return emitErrorWithHint([&] { return dispatch.emitOpError(); },
                           "has " + Twine(count) + " " + what + ", and the threads of a GPU count up to " + Twine(most),
                           hint);
}

LogicalResult kernel::verifyCountable(DispatchOp dispatch) {
  if (dispatch.getForm() == Form::Scatter) {
    auto op = cast<graph::ScatterOp>(dispatch.yielded()[0].getDefiningOp());
    int64_t rows = graph::shapeOf(op.getY())[op.getAxis()];
    return success(succeeded(verifyCount(dispatch, countOf(op.getIndices()), mostIterations,
                                         "elements in its tensor of indices", "use a smaller batch")) &&
                   succeeded(verifyCount(dispatch, rows, mostIterations, "rows in its result",
                                         "divide the table that is indexed into several")) &&
                   succeeded(verifyCount(dispatch, countOf(op.getY()) / rows, mostIterations, "columns in its result",
                                         "divide the rows of the table that is indexed")));
  }
  std::optional<Space> space = Space::of(dispatch);
  if (!space)
    return success(); // formOf has an error of its own for it
  return verifyCount(dispatch, space->points(), space->hasReductions() ? mostIterations : mostPoints,
                     "points in its space", "use a smaller batch, or smaller parameters where none of it is a batch");
}
