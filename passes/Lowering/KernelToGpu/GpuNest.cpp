//===- GpuNest.cpp - which thread computes which points: pointwise, tiles -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A piece is n neighbours along the innermost loop, as many as one access of 16 bytes moves.
//
//   Pointwise:  a thread computes one piece; neighbouring threads compute neighbouring pieces. Where a loop has tiles,
//               a thread computes the piece in as many of its iterations, and what they share once.
//   Tiles:      a transpose; a block moves 32 x 32 elements through shared memory, which it reads along one
//               dimension and writes along the other.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "dialects/Kernel/Analysis/BlockMemory.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/KernelToGpu/GpuNestEmitter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

Value GpuNestEmitter::bindLinear(ArrayRef<LoopVar> vars, Value linear, const LoopVar *unbound) {
  Value number;
  for (size_t i = vars.size(); i-- > 0;) {
    Value own = i == 0 ? linear : remainder(e, linear, vars[i].extent);
    if (&vars[i] == unbound)
      number = own;
    else
      e.bindSymbols(vars[i].factors, toI64(e, own));
    if (i > 0)
      linear = quotient(e, linear, vars[i].extent);
  }
  return number;
}

//===-- Neighbours ----------------------------------------------------------------------===//

/// Splits the innermost loop into (pieces, n), whatever dimensions it walks; the n positions are constants. With n = 1
/// a reduced loop becomes one dimension.
static void splitNeighbours(Plan &plan) {
  LoopVar *last = plan.neighbourLoop();
  int64_t n = plan.vector;
  if (!last || (n == 1 && (!plan.factors.back().reduced || last->factors.size() == 1)))
    return;
  bool reduced = plan.factors.back().reduced;
  SymbolId first = last->factors.front();
  last->extent /= n;
  last->factors = {first};
  plan.factors.resize(first);
  plan.factors.push_back({last->extent, reduced});
  if (n > 1)
    plan.factors.push_back({n, reduced});
}

void GpuNestEmitter::move(SymbolId symbol, const Index &to) {
  for (Index *point : {&space, &keptSpace})
    *point = *point + (to - Index::symbol(symbol)) * point->coefficient(symbol);
}

void GpuNestEmitter::forNeighbours(llvm::function_ref<void(int64_t)> body) {
  if (n == 1)
    return body(0);
  Index whole = space, wholeKept = keptSpace;
  for (int64_t i = 0; i < n; ++i) {
    move(plan.factors.size() - 1, Index(i));
    body(i);
    space = whole, keptSpace = wholeKept;
  }
}

void GpuNestEmitter::storeAll(ArrayRef<Elements> points) {
  // The stores go result by result, and part by part, so that neighbours become one access.
  for (size_t i = 0; i < points.front().size(); ++i)
    for (const Elements &elements : points)
      store(elements[i]);
}

void GpuNestEmitter::storeNeighbours(ArrayRef<unsigned> positions, bool kept) {
  llvm::SmallVector<Elements> neighbours;
  forNeighbours([&](int64_t) { neighbours.push_back(elementsAt(positions, kept ? keptSpace : space)); });
  storeAll(neighbours);
}

void GpuNestEmitter::forStrip(const LoopVar &strip, Value number, llvm::function_ref<void()> body) {
  Index first = e.opaque(toI64(e, number), 0, strip.extent - 1) * strip.tile, whole = space, wholeKept = keptSpace;
  for (int64_t iteration = 0; iteration < strip.tile; ++iteration) {
    move(strip.factors.front(), first + Index(iteration));
    body();
    space = whole, keptSpace = wholeKept;
  }
}

void GpuNestEmitter::storeStrip(const LoopVar &strip, Value number) {
  llvm::SmallVector<Elements> points;
  forStrip(strip, number,
           [&] { forNeighbours([&](int64_t) { points.push_back(elementsAt(plan.fullResults, space)); }); });
  storeAll(points);
}

//===-- Pointwise ---------------------------------------------------------------------===//

Blocks GpuNestEmitter::pointwise() {
  // A thread's iterations of a loop with tiles lie `strips` apart, so that neighbouring threads read neighbours; those
  // of windows, which overlap, lie side by side.
  llvm::SmallVector<LoopVar> loops = plan.kept;
  LoopVar *tiled = llvm::find_if(loops, [](const LoopVar &loop) { return loop.tile > 0; });
  int64_t strips = 0;
  if (tiled != loops.end())
    strips = tiled->extent /= tiled->tile;
  int64_t count = iterations(loops), threads = plan.threads();
  Value thread = threadId(e), at = e.add(e.mul(blockId(e), threads), thread);
  e.when(count % threads == 0 ? Value() : e.below(at, count), [&] {
    Value strip = bindLinear(loops, at, tiled);
    if (!strip)
      return storeNeighbours(plan.fullResults, /*kept=*/false);
    if (tiled->tile <= gpuBlocks.windowStrip && overlappingTaps(dispatch, plan.factors, *tiled) > 0)
      return storeStrip(*tiled, strip);
    e.loop(tiled->tile, {}, [&](Value iteration, ValueRange) {
      e.bindSymbols(tiled->factors, e.add(toI64(e, strip), e.mul(iteration, strips)));
      storeNeighbours(plan.fullResults, /*kept=*/false);
      return Values();
    });
  });
  return {llvm::divideCeilSigned(count, threads), threads};
}

Blocks GpuNestEmitter::tiles() {
  ArrayRef<LoopVar> others = ArrayRef(plan.kept).drop_back(2);
  const LoopVar &across = plan.kept[others.size()], &inner = plan.kept.back();
  int64_t side = inner.tile, pitch = tilePitch(side), acrossTiles = across.blocks(), innerTiles = inner.blocks();
  Value tid = threadId(e), lane = remainder(e, tid, side), line = quotient(e, tid, side), tile = blockId(e);
  Value innerLow = e.mul(remainder(e, tile, innerTiles), side);
  tile = quotient(e, tile, innerTiles);
  Value acrossLow = e.mul(remainder(e, tile, acrossTiles), side);
  bindLinear(others, quotient(e, tile, acrossTiles));

  llvm::SmallVector<Buffer> shared;
  for (unsigned r : plan.fullResults)
    shared.push_back(sharedBuffer(e, kernel::tileOf(yielded[r], side)));
  /// Calls body(slot in the tile) for the thread's elements; neighbouring threads are neighbours along
  /// `across` or along `inner`.
  auto walkTile = [&](bool alongAcross, llvm::function_ref<void(const Index &)> body) {
    threadLoop(e, line, side, plan.threadRows, {}, [&](Value line, ValueRange) -> Values {
      Value a = alongAcross ? lane : line, i = alongAcross ? line : lane;
      Value acrossAt = e.add(acrossLow, a), innerAt = e.add(innerLow, i), inside;
      if (across.extent % side != 0)
        inside = e.below(acrossAt, across.extent);
      if (inner.extent % side != 0)
        inside = e.both(inside, e.below(innerAt, inner.extent));
      e.when(inside, [&] {
        bind(across, toI64(e, acrossAt));
        bind(inner, toI64(e, innerAt));
        Index slot = e.opaque(toI64(e, a), 0, side - 1);
        body(slot + e.opaque(toI64(e, i), 0, side - 1) * pitch);
      });
      return {};
    });
  };
  walkTile(true, [&](const Index &slot) {
    for (auto [r, buffer] : llvm::zip_equal(plan.fullResults, shared))
      e.store(buffer, slot, e.element(yielded[r], indexOf(yielded[r], space)));
  });
  kernel::BarrierOp::create(e.b, /*id=*/0, /*threads=*/IntegerAttr());
  walkTile(false, [&](const Index &slot) {
    for (auto [r, buffer] : llvm::zip_equal(plan.fullResults, shared))
      e.store(results[r], space, e.load(buffer, slot));
  });
  return {iterations(others) * acrossTiles * innerTiles, plan.threads()};
}

Blocks mpc::emitGpuNest(Plan plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results, ElementEmitter &e) {
  if (plan.form == kernel::Form::Scatter)
    return emitGpuScatter(dispatch, results[0], e);
  if (plan.form == kernel::Form::TransposedCopy)
    return emitGpuTransposedCopy(plan, dispatch, results, e);
  splitNeighbours(plan);
  GpuNestEmitter nest(plan, dispatch, results, e);
  switch (plan.walk) {
  case kernel::Walk::Points:
    return nest.pointwise();
  case kernel::Walk::Tiles:
    return nest.tiles();
  case kernel::Walk::Rows:
    return nest.rows();
  case kernel::Walk::Columns:
    return nest.columns();
  case kernel::Walk::Copies:
    break;
  }
  llvm_unreachable("every walk has a nest");
}
