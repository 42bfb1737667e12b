//===- GpuReductions.cpp - which thread computes which points: rows, columns ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A piece is n neighbours along the innermost loop, as in GpuNest.cpp.
//
//   Rows:       m threads compute a row: a part of a warp or a warp (short rows), or a block; a thread takes every
//               m-th piece, then the threads combine their results. Where a thread has few pieces they are
//               unrolled, so that a stage finds in registers what an earlier one has loaded and computed.
//   Columns:    a block takes up to 32 neighbouring pieces of n columns; each of its g groups of threads takes
//               every g-th row, or every g-th strip of rows where the loop has tiles, then the groups combine
//               their results.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "passes/Lowering/KernelToGpu/GpuNestEmitter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

GpuNestEmitter::Values GpuNestEmitter::walk(Value first, int64_t step, ValueRange init,
                                            llvm::function_ref<Values(ValueRange)> body) {
  llvm::SmallVector<LoopVar> loops = plan.reduced;
  LoopVar *strip = !loops.empty() && loops.back().tile ? &loops.back() : nullptr;
  if (strip)
    strip->extent /= strip->tile;
  int64_t count = iterations(loops), ops = bodyOps * n * (strip ? strip->tile : 1), side = gpuBlocks.pieces;
  while (side > 1 && (side * step > count || side * ops > gpuBlocks.walkedOps))
    side /= 2;
  auto at = [&](Value piece, ValueRange carried) -> Values {
    Value number = bindLinear(loops, piece, strip);
    if (!strip)
      return body(carried);
    Values sums(carried);
    forStrip(*strip, number, [&] { sums = body(sums); });
    return sums;
  };
  return threadLoop(e, first, count, step, init, at, side);
}

GpuNestEmitter::Values GpuNestEmitter::stageStep(Stage stage, ArrayRef<Value> accumulators) {
  Values next;
  for (auto [op, accumulator] : llvm::zip_equal(stage, accumulators)) {
    Value element = reducedElement(op);
    auto product = element.getDefiningOp<arith::MulFOp>();
    bool fuses = product && product.getType() == accumulator.getType() &&
                 cast<ReductionOpInterface>(op).getCombiner() == Combiner::Add;
    next.push_back(fuses ? e.fma(product.getLhs(), product.getRhs(), accumulator)
                         : reductionStep(op, accumulator, element, e, /*mayReorder=*/true));
  }
  return next;
}

void GpuNestEmitter::defineTotals(Stage stage, ArrayRef<Value> totals) {
  // A total has no position along the reduced dimensions.
  Index whole = space;
  for (auto [symbol, factor] : llvm::enumerate(plan.factors))
    if (factor.reduced)
      space = space - Index::symbol(symbol, whole.coefficient(symbol));
  for (auto [op, total] : llvm::zip_equal(stage, totals))
    define(op, reductionFinish(op, total, e));
  space = whole;
}

void GpuNestEmitter::unrolled(Value first, int64_t step, llvm::function_ref<void(Value)> body) {
  assert(plan.reduced.size() == 1 && plan.reduced.front().factors.size() == 1 && "the reduced space is one variable");
  SymbolId symbol = plan.reduced.front().factors.front();
  int64_t pieces = plan.reduced.front().extent;
  Index whole = space;
  for (int64_t low = 0; low < pieces; low += step) {
    Value piece = e.add(first, low), inside;
    if (low + step > pieces) {
      inside = e.below(piece, pieces);
      piece = e.min(piece, pieces - 1, /*isUnsigned=*/true);
    }
    Index at = e.opaque(toI64(e, piece), low, std::min(low + step, pieces) - 1);
    space = whole + (at - Index::symbol(symbol)) * whole.coefficient(symbol);
    body(inside);
  }
  space = whole;
}

//===-- Rows ------------------------------------------------------------------------------===//

GpuNestEmitter::Values GpuNestEmitter::sumRow(Stage stage, Value lane) {
  auto step = [&](Values sums) {
    forNeighbours([&](int64_t) { sums = stageStep(stage, sums); });
    return sums;
  };
  Values sums = stageInit(stage);
  if (!plan.unroll)
    return walk(lane, plan.threadColumns, sums, [&](ValueRange carried) { return step(Values(carried)); });
  unrolled(lane, plan.threadColumns, [&](Value has) {
    for (auto [sum, stepped] : llvm::zip_equal(sums, step(sums)))
      sum = e.select(has, stepped, sum);
  });
  return sums;
}

void GpuNestEmitter::storeRow(Value lane) {
  auto store = [&] { storeNeighbours(plan.fullResults, /*kept=*/false); };
  if (plan.fullResults.empty())
    return;
  if (plan.unroll)
    unrolled(lane, plan.threadColumns, [&](Value has) { e.when(has, store); });
  else
    walk(lane, plan.threadColumns, {}, [&](ValueRange) { return store(), Values(); });
}

Blocks GpuNestEmitter::rows() {
  int64_t count = plan.keptCount(), threads = plan.threads(), width = plan.threadColumns;
  Value thread = threadId(e), row = blockId(e), lane = thread, inside;
  if (width <= warpThreads) {
    Value number = quotient(e, thread, width);
    row = e.add(e.mul(row, plan.threadRows), number);
    lane = remainder(e, thread, width);
    if (count % plan.threadRows != 0) // whole warps drop out, so shuffles stay complete
      inside = e.below(row, count);
  }
  e.when(inside, [&] {
    bindLinear(plan.kept, row);
    for (Stage stage : plan.stages) {
      ThreadReducer reducer(e, stage, {sumRow(stage, lane)}, thread, plan.threadColumns, /*columns=*/1);
      defineTotals(stage, reducer.totals(0));
    }
    storeRow(lane);
    if (!plan.rowResults.empty())
      e.when(e.below(lane, 1), [&] { storeResults(plan.rowResults, keptSpace); });
  });
  return {llvm::divideCeilSigned(count, plan.threadRows), threads};
}

//===-- Columns ---------------------------------------------------------------------------===//

GpuNestEmitter::ColumnPlace GpuNestEmitter::placeInColumns() {
  const LoopVar &column = plan.kept.back(); // its loop counts pieces of n columns
  int64_t width = plan.threadColumns, blocks = llvm::divideCeilSigned(column.extent, width);
  ColumnPlace place;
  place.thread = threadId(e);
  place.group = quotient(e, place.thread, width);
  Value at = remainder(e, place.thread, width), block = blockId(e);
  place.firstPiece = e.mul(remainder(e, block, blocks), width);
  at = e.add(place.firstPiece, at);
  // Threads beyond the last column repeat its work and store nothing, because all threads must reach the barriers.
  if (column.extent % width != 0) {
    place.inside = e.below(at, column.extent);
    at = e.min(at, column.extent - 1, /*isUnsigned=*/true);
  }
  bind(column, toI64(e, at));
  bindLinear(ArrayRef(plan.kept).drop_back(), quotient(e, block, blocks));
  return place;
}

ThreadReducer GpuNestEmitter::reduceColumns(Stage stage, const ColumnPlace &place) {
  auto ofNeighbour = [&](const Values &all, int64_t i) { return ArrayRef(all).slice(i * stage.size(), stage.size()); };
  Values init;
  for (int64_t i = 0; i < n; ++i)
    llvm::append_range(init, stageInit(stage));
  Values sums = walk(place.group, plan.threadRows, init, [&](ValueRange carried) {
    Values all(carried), next;
    forNeighbours([&](int64_t i) { llvm::append_range(next, stageStep(stage, ofNeighbour(all, i))); });
    return next;
  });
  llvm::SmallVector<Values> byNeighbour;
  for (int64_t i = 0; i < n; ++i)
    byNeighbour.emplace_back(ofNeighbour(sums, i));
  return ThreadReducer(e, stage, byNeighbour, place.thread, plan.threads(), plan.threadColumns);
}

void GpuNestEmitter::storeSingleColumns(Stage stage, ThreadReducer &reducer, const ColumnPlace &place) {
  const LoopVar &column = plan.kept.back();
  int64_t width = plan.threadColumns;
  Value ofBlock = quotient(e, place.thread, n), piece = e.add(place.firstPiece, ofBlock);
  Value has = e.below(place.thread, width * n);
  if (column.extent % width != 0)
    has = e.both(has, e.below(piece, column.extent));
  e.when(has, [&] {
    Index neighbour = e.opaque(toI64(e, remainder(e, place.thread, n)), 0, n - 1);
    move(column.factors.front(), e.opaque(toI64(e, piece), 0, column.extent - 1));
    move(plan.factors.size() - 1, neighbour);
    Index ofColumn = e.opaque(toI64(e, ofBlock), 0, width - 1);
    defineTotals(stage, reducer.totals(ofColumn, neighbour));
    storeResults(plan.rowResults, keptSpace);
  });
}

Blocks GpuNestEmitter::columns() {
  int64_t threads = plan.threads(), width = plan.threadColumns,
          blocks = llvm::divideCeilSigned(plan.kept.back().extent, width) * iterations(ArrayRef(plan.kept).drop_back());
  ColumnPlace place = placeInColumns();
  Value storesRow = e.both(e.below(place.group, 1), place.inside);
  auto storeRow = [&](Value has) {
    if (!plan.rowResults.empty())
      e.when(has, [&] { storeNeighbours(plan.rowResults, /*kept=*/true); });
  };
  for (auto [s, ops] : llvm::enumerate(plan.stages)) {
    Stage stage = ops;
    ThreadReducer reducer = reduceColumns(stage, place);
    auto defineAll = [&] { forNeighbours([&](int64_t i) { defineTotals(stage, reducer.totals(i)); }); };
    bool isRead = s + 1 < plan.stages.size() || !plan.fullResults.empty();
    if (isRead) {
      defineAll();
      continue;
    }
    // Only the threads that store need the totals, which nothing reads.
    bool single = plan.stages.size() == 1 && n > 1 && reducer.inMemory() && width * n <= threads;
    if (single) // so the ops behind the reductions take less time, and are emitted once
      storeSingleColumns(stage, reducer, place);
    else
      e.when(storesRow, [&] {
        defineAll();
        storeRow({});
      });
    return {blocks, threads};
  }
  e.when(place.inside, [&] {
    walk(place.group, plan.threadRows, {},
         [&](ValueRange) { return storeNeighbours(plan.fullResults, /*kept=*/false), Values(); });
  });
  storeRow(storesRow);
  return {blocks, threads};
}
