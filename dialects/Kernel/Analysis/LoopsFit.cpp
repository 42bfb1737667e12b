// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/LoopsFit.h"
#include "dialects/Kernel/Analysis/BlockMemory.h"
#include "dialects/Kernel/Analysis/Countable.h"
#include "dialects/Kernel/Analysis/Dims.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include "dialects/Kernel/Analysis/LoopRules.h"
#include "dialects/Kernel/Analysis/LoopsBehind.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

using namespace mlir;
using namespace mpc;
using namespace mpc::kernel;
using Tiling = LoopRules::Tiling;
using Neighbours = LoopRules::Neighbours;
using Threads = LoopRules::Threads;

namespace {

class LoopsFit {
public:
  using EmitError = llvm::function_ref<InFlightDiagnostic()>;
  /// `dispatch` has the space that the loops walk.
  LoopsFit(DispatchOp dispatch, LoopsAttr loops, const GpuArch *gpu, EmitError emitError)
      : dispatch(dispatch), loops(loops), order(loops.getOrder()), walk(loops.getWalk()), gpu(gpu),
        emitError(emitError) {}

  LogicalResult verify();

private:
  LogicalResult verifySpace();
  LogicalResult verifyOrder();
  LogicalResult verifyTiles();
  LogicalResult verifyShared();
  LogicalResult verifyNeighbours();
  LogicalResult verifyThreads();
  LogicalResult verifySharedMemory();
  LogicalResult verifyUnrolled();

  int64_t extentOf(const Loop &loop) const {
    return llvm::product_of(loops.getExtents().slice(loop.first, loop.count));
  }
  bool isReduced(const Loop &loop) const { return dims[loop.first].reduced; }
  /// The number of loops over kept dimensions.
  int64_t numKept() const {
    return llvm::count_if(order, [&](const Loop &loop) { return !isReduced(loop); });
  }
  /// Returns whether neighbouring iterations of the innermost loop read and write neighbouring elements.
  bool hasNeighbours() const { return !order.empty() && kernel::hasNeighbours(walk, dims, order.back().last()); }
  /// Returns whether the iterations of the innermost loop are computed together, so that the loop around it is
  /// innermost.
  bool together() const { return loops.getVector() > 1 && rules.neighbours == Neighbours::Whole; }
  StringRef walkName() const { return stringifyWalk(walk); }

  DispatchOp dispatch;
  LoopsAttr loops;
  ArrayRef<Loop> order;
  Walk walk;
  const GpuArch *gpu;
  EmitError emitError;
  SmallVector<Dim> dims;
  LoopRules rules;
};

} // namespace

/// The loops belong to this form, target and space.
LogicalResult LoopsFit::verifySpace() {
  if (dispatch.computesNothing())
    return emitError() << "all results are empty, and no loops compute them";
  if (loops.getThreads().empty() != !gpu)
    return emitError() << (gpu ? "a kernel of a GPU has threads" : "a kernel of the host has no threads");
  if (!walksForm(walk, dispatch.getForm()))
    return emitError() << walkName() << " do not go through a dispatch of the form "
                       << stringifyForm(dispatch.getForm());
  std::optional<LoopRules> found = rulesOf(walk, gpu);
  if (!found)
    return emitError() << walkName() << " are for GPUs";
  rules = *found;
  if (gpu && walk == Walk::Tiles && StoredParts::in(dispatch))
    return emitError() << "tiles hold whole results, and this dispatch stores a concatenation in parts";
  dims = *dimsOf(dispatch); // every form that is walked has a space
  auto extents = llvm::map_range(dims, [](Dim dim) { return dim.extent; });
  if (!llvm::equal(loops.getExtents(), extents))
    return emitError() << "the dimensions of its space are " << llvm::interleaved(extents, "x");
  return gpu ? verifyCountable(dispatch) : success();
}

/// Loops over kept and reduced dimensions come in the order that the walk is made of.
LogicalResult LoopsFit::verifyOrder() {
  for (const Loop &loop : order)
    for (const Dim &dim : ArrayRef(dims).slice(loop.first, loop.count))
      if (dim.reduced != isReduced(loop))
        return emitError() << "a loop walks both kept and reduced dimensions";
  ArrayRef<Loop> outer = order;
  if (walk == Walk::Columns) {
    if (order.empty() || isReduced(order.back()))
      return emitError() << "a walk over columns ends with a kept dimension";
    outer = outer.drop_back();
  }
  if (!llvm::is_sorted(llvm::map_range(outer, [&](const Loop &loop) { return isReduced(loop); })))
    return emitError() << "a loop over a kept dimension is inside of one over a reduced dimension";
  return success();
}

LogicalResult LoopsFit::verifyTiles() {
  SmallVector<const Loop *> mayHave;
  StringRef which;
  switch (rules.tiling) {
  case Tiling::None:
    which = "none of the loops";
    break;
  case Tiling::Innermost:
    which = "only the innermost loop";
    if (size_t inner = together(); order.size() > inner)
      mayHave = {&order[order.size() - 1 - inner]};
    break;
  case Tiling::Strips:
    which = "only one loop, not the innermost one,";
    if (order.size() > 1)
      if (const Loop *tiled = llvm::find_if(order, [](const Loop &loop) { return loop.tile > 0; });
          tiled != order.end() && tiled != &order.back()) {
        mayHave = {tiled};
        if (extentOf(*tiled) % tiled->tile != 0)
          return emitError() << "a thread takes " << tiled->tile << " iterations of a loop, which do not divide its "
                             << extentOf(*tiled);
      }
    break;
  case Tiling::Sums:
    which = "only the innermost loop and one reduced loop";
    mayHave = {&order.back(), llvm::find_if(order, [&](const Loop &loop) { return isReduced(loop) && loop.tile > 0; })};
    if (int64_t block = order.back().tile ? order.back().tile : extentOf(order.back()); block > hostBlocks.columns)
      return emitError() << "a block has sums of at most " << hostBlocks.columns << " columns, not of " << block;
    break;
  case Tiling::Taps:
    which = "only the last reduced loop";
    if (const Loop *taps = llvm::find_if(order, [&](const Loop &loop) { return isReduced(loop) && loop.tile > 0; });
        taps != order.end() && taps + 2 == order.end()) {
      mayHave = {taps};
      if (taps->tile > gpuBlocks.windowStrip)
        return emitError() << "a thread adds up at most " << gpuBlocks.windowStrip << " neighbours together, not "
                           << taps->tile;
      if (taps->count != 1 || extentOf(*taps) % taps->tile != 0)
        return emitError() << "a thread adds up " << taps->tile
                           << " neighbours of a loop over one dimension, which do not divide its " << extentOf(*taps);
    }
    break;
  case Tiling::Pair:
  case Tiling::Squares:
    if (order.size() < 2 || !order.back().tile || !order[order.size() - 2].tile)
      return emitError() << "tiles are made of the tiles of the two innermost loops";
    which = "only the two innermost loops";
    mayHave = {&order.back(), &order[order.size() - 2]};
    break;
  case Tiling::Matrices: {
    constexpr int64_t side = gpuBlocks.copyTile;
    const Loop wanted[] = {{.first = 0}, {.first = 1, .tile = side}, {.first = 2, .tile = side}};
    if (order != ArrayRef(wanted))
      return emitError() << "the loops of copies are [0, 1 by " << side << ", 2 by " << side << ']';
    return success();
  }
  }
  for (const Loop &loop : order) {
    if (loop.tile && !llvm::is_contained(mayHave, &loop))
      return emitError() << which << " of a walk over " << walkName() << " may have tiles on this target";
    if (!gpu && loop.tile > extentOf(loop))
      return emitError() << "a tile of " << loop.tile << " iterations is larger than its loop, which has "
                         << extentOf(loop);
    if (loop.tile && rules.tiling == Tiling::Squares && loop.tile != loops.getThreads()[1])
      return emitError() << "a tile has " << loop.tile << " iterations and a row of threads has "
                         << loops.getThreads()[1] << "; on a GPU they are equal";
  }
  return success();
}

LogicalResult LoopsFit::verifyShared() {
  int64_t most = std::max<int64_t>(0, numKept() - int64_t(together()) - rules.unshared);
  if (loops.getParallel() > most || (rules.allShared && loops.getParallel() < most))
    return emitError() << (rules.allShared ? "exactly " : "at most ") << most
                       << " of the outermost loops of a walk over " << walkName()
                       << " are parallel on this target, not " << loops.getParallel();
  return success();
}

LogicalResult LoopsFit::verifyNeighbours() {
  int64_t vector = loops.getVector(), most = std::max(gpuBlocks.neighbours, periodOf(dispatch));
  if (vector == 1)
    return success();
  if (rules.neighbours == Neighbours::One)
    return emitError() << "an iteration of a walk over " << walkName() << " computes one point on this target";
  if (rules.neighbours == Neighbours::Whole &&
      (!hasNeighbours() || order.back().count != 1 || extentOf(order.back()) != vector))
    return emitError() << "vector = " << vector
                       << " needs an innermost loop of as many iterations over the last dimension alone";
  if (rules.neighbours == Neighbours::Divisor && !hasNeighbours())
    return emitError() << "vector = " << vector << " needs an innermost loop that ends with the last dimension";
  if (rules.neighbours == Neighbours::Divisor && extentOf(order.back()) % vector != 0)
    return emitError() << "vector = " << vector << " does not divide the innermost loop, which has "
                       << extentOf(order.back()) << " iterations";
  if (vector > most)
    return emitError() << "at most " << most << " neighbours are computed together, not " << vector;
  return success();
}

LogicalResult LoopsFit::verifyThreads() {
  int64_t rows = loops.getThreads()[0], columns = loops.getThreads()[1];
  bool isPart = columns < warpThreads && llvm::isPowerOf2_64(columns);
  if (rules.threads == Threads::Warps && !isPart &&
      (columns % warpThreads != 0 || (rows > 1 && columns != warpThreads)))
    return emitError() << "a block has several rows only if each is one warp of " << warpThreads
                       << " threads or fewer, a power of two, and else one row of whole warps, not " << rows << 'x'
                       << columns;
  int64_t numRows = Space::of(dispatch)->rows(), ofWarp = isPart ? warpThreads / columns : 1;
  if (rules.threads == Threads::Warps && numRows % ofWarp != 0)
    return emitError() << "a warp computes " << ofWarp << " rows at a time, and there are " << numRows
                       << ", which is no multiple";
  if (rules.threads == Threads::Powers && (columns > warpThreads || !llvm::isPowerOf2_64(columns)))
    return emitError() << "columns are shared by a power of two of threads, at most " << warpThreads << ", not by "
                       << columns;
  return success();
}

/// A block's tiles, or the sums that its warps exchange, have room in its shared memory.
LogicalResult LoopsFit::verifySharedMemory() {
  int64_t bytes = sharedBytes(dispatch, loops);
  if (bytes > gpu->sharedBytesPerBlock)
    return emitError() << "a block takes " << bytes << " bytes of shared memory, and one of " << gpu->name << " has "
                       << gpu->sharedBytesPerBlock;
  return success();
}

LogicalResult LoopsFit::verifyUnrolled() {
  if (!loops.getUnroll())
    return success();
  if (!rules.mayUnroll)
    return emitError() << "only the threads of a GPU that share a row unroll their pieces of it";
  bool isOneLoop = int64_t(order.size()) - numKept() == 1 && (order.back().count == 1 || hasNeighbours());
  if (!isOneLoop)
    return emitError() << "only a single loop over the row is unrolled";
  int64_t pieces = llvm::divideCeilSigned(extentOf(order.back()) / loops.getVector(), loops.getThreads()[1]);
  if (pieces > gpuBlocks.pieces)
    return emitError() << "a thread unrolls at most " << gpuBlocks.pieces << " pieces of a row, not " << pieces;
  return success();
}

LogicalResult LoopsFit::verify() {
  if (failed(verifySpace()) || failed(verifyOrder()) || failed(verifyTiles()) || failed(verifyShared()) ||
      failed(verifyNeighbours()) || failed(verifyUnrolled()))
    return failure();
  if (!loops.getCuts().empty() && (!rules.mayCut || together()))
    return emitError() << "only loops over single points on the host are cut";
  return gpu ? success(succeeded(verifyThreads()) && succeeded(verifySharedMemory())) : success();
}

LogicalResult kernel::verifyLoops(DispatchOp dispatch, const GpuArch *gpu) {
  LoopsAttr loops = dispatch.getLoopsAttr();
  if (!loops)
    return success();
  if (dispatch.isBatch())
    return dispatch.emitOpError("is a batch, whose members have loops, and has loops of its own");
  auto emitError = [&] {
    InFlightDiagnostic error = dispatch.emitOpError("loops: ");
    error.attachNote() << "hint: run mpc-plan-loops again, which replaces these loops";
    return error;
  };
  if (dispatch.isAttention())
    return emitError() << "an attention has none, because its schedule says how it is computed";
  if (!dispatch.isContraction())
    return LoopsFit(dispatch, loops, gpu, emitError).verify();
  if (gpu)
    return emitError() << "a contraction of a GPU has none, because its schedule says how it is computed";
  FailureOr<HostCall> call = HostCall::of(dispatch);
  if (failed(call))
    return failure();
  if (!call->hasLoops())
    return emitError() << "a host library computes the only result of this contraction";
  FailureOr<LoopsBehind> behind = LoopsBehind::of(*call, dispatch);
  if (failed(behind))
    return failure();
  return LoopsFit(behind->dispatch, loops, gpu, emitError).verify();
}
