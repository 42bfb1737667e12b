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
/// parts: of the results, and in reductions also of the inputs and their slices.
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
  if (plan.reduces()) {
    include(body.getArguments());
    for (auto slice : body.getOps<graph::SliceOp>())
      include(slice->getResults());
  }
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

/// Returns in how many rows a thread takes its neighbours, and sets `vector` to how many these are; returns 1 where
/// strips do not pay. A point takes `ops` ops. Where windows overlap from row to row they have `taps` products, else
/// that is 0: a thread keeps what they share in registers, and so takes fewer neighbours in more rows.
static int64_t stripOf(const Plan &plan, const LoopVar &rows, int64_t taps, int64_t ops, int64_t period,
                       const GpuArch &arch, int64_t &vector) {
  // A thread has registers for the windows of so many elements. They let a multiprocessor have fewer blocks at a time.
  int64_t most = taps > 32 ? 8 : taps > 16 ? 16 : 32;
  int64_t leastBlocks = (taps ? gpuBlocks.stripBlocks / 2 : gpuBlocks.stripBlocks) * arch.multiprocessors;
  llvm::SmallVector<int64_t> strips = {gpuBlocks.strip, gpuBlocks.strip / 2};
  if (taps)
    strips.insert(strips.begin() + 1, gpuBlocks.windowStrip);
  for (int64_t strip : strips) {
    int64_t own = vector;
    while (taps && own * strip > most && own % (2 * period) == 0)
      own /= 2;
    if (rows.extent % strip == 0 && iterations(plan.kept) / (own * strip) / plan.threads() >= leastBlocks &&
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
  int64_t taps = overlappingTaps(dispatch, plan.factors, rows);
  auto isOfRow = [&](Value v) { return graph::typeOf(v).getNumElements() == plan.kept.back().extent; };
  auto mayRepeat = [&](Operation &op) {
    return isOfKind(&op, LoopKind::Elementwise) || isOfKind(&op, LoopKind::Generator) ||
           isOfKind(&op, LoopKind::Broadcast) || (taps && isOfKind(&op, LoopKind::Window));
  };
  if ((!taps && llvm::none_of(body.getArguments(), isOfRow)) || !llvm::all_of(body.without_terminator(), mayRepeat))
    return;
  int64_t ops = int64_t(llvm::range_size(body)) + taps;
  if (int64_t strip = stripOf(plan, rows, taps, ops, kernel::periodOf(dispatch), arch, plan.vector); strip > 1)
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

/// Sums of products with a tensor at several distances (the gradient of a depthwise convolution's weights): a thread
/// takes neighbouring iterations, which read the same elements at different distances.
static void divideTaps(Plan &plan, kernel::DispatchOp dispatch) {
  constexpr int64_t fewest = 3;
  int64_t moved = llvm::count_if(dispatch.getBody().front(), [](Operation &op) { return isa<graph::PadOp>(op); });
  if (moved < fewest || plan.reduced.empty() || plan.reduced.back().factors.size() != 1)
    return;
  LoopVar &inner = plan.reduced.back();
  for (int64_t strip : {gpuBlocks.strip, gpuBlocks.strip / 2})
    if (inner.extent % strip == 0) {
      inner.tile = strip;
      return;
    }
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
  divideTaps(plan, dispatch);
  // Strips are so much work that a group has two of them: combining the sums of more groups would cost as much.
  int64_t strip = plan.reduced.empty() ? 0 : plan.reduced.back().tile;
  int64_t groups = blockThreads / width, shares = plan.reducedCount() / (strip ? 2 * strip : 1);
  while (groups > warpThreads / width && groups / 2 >= shares)
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
