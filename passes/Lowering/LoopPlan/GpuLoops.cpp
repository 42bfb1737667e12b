//===- GpuLoops.cpp - divides loops among the threads of a GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/BlockMemory.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/LoopPlan/ChooseLoops.h"

using namespace mlir;
using namespace mpc;
using kernel::Walk;

/// Returns the element size, in bytes, of the widest tensor that spans the whole space, by itself or with each of its
/// parts: of the results, and in reductions also of the inputs.
static int64_t widestBytes(const Plan &plan, kernel::DispatchOp dispatch) {
  Block &body = dispatch.getBody().front();
  int64_t bytes = 1;
  auto include = [&](ValueRange tensors) {
    for (Value v : tensors)
      if (int64_t points = plan.keptCount() * plan.reducedCount();
          kernel::countOf(v) == points || (!plan.reduces() && kernel::StoredParts(v, points)))
        bytes = std::max<int64_t>(bytes, ElementEmitter::storageType(graph::elementOf(v)).getIntOrFloatBitWidth() / 8);
  };
  include(dispatch.yielded());
  if (plan.reduces())
    include(body.getArguments());
  return bytes;
}

/// Returns how many neighbours along the innermost dimension a thread takes: as many as one access moves,
/// and whole periods.
static int64_t neighboursOf(const LoopVar &loop, int64_t elementBytes, int64_t period) {
  int64_t n = std::min(gpuBlocks.vectorBytes / elementBytes, gpuBlocks.neighbours);
  while (n > 1 && loop.extent % n != 0)
    n /= 2;
  return n % period != 0 && loop.extent % period == 0 ? period : n;
}

/// Returns how many rows of `rows` a thread computes, and sets `vector` to its neighbours in each; 1 where strips do
/// not pay. `ops` are those of one point. A thread keeps the elements of overlapping windows in registers, so it takes
/// fewer neighbours in more rows, which share more: seven rows where the maps have 7 or 14.
static int64_t stripOf(const Plan &plan, int64_t rows, int64_t positions, int64_t ops, const GpuArch &arch,
                       int64_t &vector) {
  int64_t most = positions > 32 ? 8 : positions > 16 ? 16 : 32; // elements of a thread: registers suffice for them
  for (int64_t strip : {gpuBlocks.strip, int64_t(positions ? 7 : 1), gpuBlocks.strip / 2}) {
    int64_t own = vector, least = gpuBlocks.stripBlocks;
    if (positions) {
      while (own > 1 && own % 2 == 0 && own * strip > most)
        own /= 2;
      least /= 2; // their registers let a multiprocessor have fewer blocks at a time
    }
    int64_t blocks = iterations(plan.kept) / (own * strip) / plan.threads();
    if (strip > 1 && rows % strip == 0 && blocks >= least * arch.multiprocessors &&
        ops * own * strip <= gpuBlocks.unrolledOps) {
      vector = own;
      return strip;
    }
  }
  return 1;
}

/// Where rows read the same elements of some operands (parameters of channels, weights of a depthwise convolution), a
/// thread computes its neighbours in several rows and reads those elements once.
static void divideStrips(Plan &plan, kernel::DispatchOp dispatch, const GpuArch &arch) {
  if (plan.kept.size() < 2 || plan.vector == 1 || dispatch.isMember())
    return;
  Block &body = dispatch.getBody().front();
  LoopVar &rows = plan.kept[plan.kept.size() - 2];
  int64_t positions = 0; // of a window
  if (Operation *depthwise = depthwiseOf(dispatch)) {
    Value weights = depthwise->getOperand(1); // [kernel..., channels]
    positions = kernel::countOf(weights) / graph::shapeOf(weights).back();
  }
  auto isOfRow = [&](Value v) { return graph::typeOf(v).getNumElements() == plan.kept.back().extent; };
  auto mayRepeat = [&](Operation &op) {
    return isOfKind(&op, LoopKind::Elementwise) || isOfKind(&op, LoopKind::Generator) ||
           isOfKind(&op, LoopKind::Broadcast) || (positions && isOfKind(&op, LoopKind::Window));
  };
  // Windows of one position do not overlap, and then one loop may walk several dimensions of them.
  bool shares = positions ? rows.factors.size() == 1 : llvm::any_of(body.getArguments(), isOfRow);
  if (!shares || !llvm::all_of(body.without_terminator(), mayRepeat))
    return;
  int64_t ops = int64_t(llvm::range_size(body)) + positions;
  if (int64_t strip = stripOf(plan, rows.extent, positions, ops, arch, plan.vector); strip > 1)
    rows.tile = strip;
}

/// A warp computes a row, or a block a longer one. Where there are many short rows, a part of a warp takes each: its
/// threads have more pieces, so that they spend less on combining their sums.
static void divideRows(Plan &plan, kernel::DispatchOp dispatch, const GpuArch &arch, int64_t pieceBytes) {
  constexpr int64_t ofShortRows = gpuBlocks.rows * warpThreads; // the threads of a block
  int64_t pieces = plan.reducedCount() / plan.vector, rows = plan.keptCount(), width = warpThreads;
  int64_t most = dispatch.isMember() ? gpuBlocks.memberRowThreads : gpuBlocks.rowThreads;
  while (width < most && pieces > width * gpuBlocks.pieces)
    width *= 2;
  // Where several stages read a row and a thread has few pieces of it, later stages find in registers what an earlier
  // one has loaded and computed.
  int64_t ops = llvm::range_size(dispatch.getBody().front());
  auto areFew = [&](int64_t width) {
    int64_t own = llvm::divideCeilSigned(pieces, width);
    return own <= gpuBlocks.pieces && own * plan.vector * ops <= gpuBlocks.unrolledOps;
  };
  auto isEnough = [&](int64_t narrower) {
    return areFew(narrower) && narrower * pieceBytes >= 2 * gpuBlocks.sectorBytes &&
           rows % (warpThreads / narrower) == 0 &&
           rows * narrower >= gpuBlocks.stripBlocks * arch.multiprocessors * ofShortRows;
  };
  while (width <= warpThreads && width > 1 && isEnough(width / 2))
    width /= 2;
  plan.threadColumns = width;
  plan.threadRows = width <= warpThreads ? ofShortRows / width : 1;
  bool severalPasses = plan.stages.size() > 1 || !plan.fullResults.empty();
  bool oneLoop = plan.reduced.size() == 1 && (plan.reduced.front().factors.size() == 1 || plan.neighbourLoop());
  plan.unroll = severalPasses && oneLoop && areFew(width);
}

/// Widths are powers of two, so that the threads of a column can use shuffles. Where there are few columns, blocks get
/// narrower so that there are more of them, as long as a block's part of a row is a whole sector.
static void divideColumns(Plan &plan, kernel::DispatchOp dispatch, const GpuArch &arch, int64_t pieceBytes) {
  int64_t pieces = plan.kept.back().extent / plan.vector, outer = iterations(ArrayRef(plan.kept).drop_back()),
          width = warpThreads;
  while (width > 1 && width / 2 >= pieces)
    width /= 2;
  while (width > 1 && width * pieceBytes > gpuBlocks.sectorBytes &&
         llvm::divideCeilSigned(pieces, width) * outer < gpuBlocks.columnBlocks * arch.multiprocessors)
    width /= 2;
  int64_t groups = blockThreads / width;
  while (groups > warpThreads / width && groups / 2 >= plan.reducedCount())
    groups /= 2;
  // A single warp exchanges nothing in shared memory, so this ends there at the latest.
  while (kernel::exchangedBytes(dispatch, groups * width, width, plan.vector) > arch.sharedBytesPerBlock)
    groups /= 2;
  plan.threadRows = groups;
  plan.threadColumns = width;
}

/// A block moves a tile of the values, and with it the same tile of each transpose.
static void divideCopies(Plan &plan) {
  plan.parallel -= 2;
  plan.kept[plan.parallel].tile = plan.kept.back().tile = gpuBlocks.copyTile;
  plan.threadColumns = blockThreads;
}

void mpc::divideForGpu(Plan &plan, kernel::DispatchOp dispatch, const GpuArch &arch) {
  LoopVar *innermost = plan.neighbourLoop();
  int64_t bytes = widestBytes(plan, dispatch);
  if (innermost)
    plan.vector = neighboursOf(*innermost, bytes, kernel::periodOf(dispatch));
  plan.parallel = int64_t(plan.kept.size());
  plan.threadRows = 1;
  switch (plan.walk) {
  case Walk::Points:
    plan.threadColumns =
        std::min<int64_t>(blockThreads, llvm::alignTo(iterations(plan.kept) / plan.vector, warpThreads));
    return divideStrips(plan, dispatch, arch);
  case Walk::Tiles:
    plan.parallel -= 2;
    plan.kept[plan.parallel].tile = plan.kept.back().tile = plan.threadColumns = gpuBlocks.tile;
    plan.threadRows = blockThreads / gpuBlocks.tile;
    return;
  case Walk::Rows:
    return divideRows(plan, dispatch, arch, plan.vector * bytes);
  case Walk::Columns:
    plan.parallel -= 1;
    return divideColumns(plan, dispatch, arch, plan.vector * bytes);
  case Walk::Copies:
    return divideCopies(plan);
  }
}
