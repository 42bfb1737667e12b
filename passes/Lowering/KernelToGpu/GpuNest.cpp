//===- GpuNest.cpp - thread mappings of pointwise, reduction and row kernels ------===//
//
// A piece is n neighbours along the innermost loop, as many as one access of 16 bytes moves.
//
//   Pointwise:  a thread computes one piece; neighbouring threads compute neighbouring pieces.
//   Tiles:      a transpose; a block moves 32 x 32 elements through shared memory, which it reads along one
//               dimension and writes along the other.
//   Rows:       a warp (short rows) or a block computes a row; a thread takes every 32nd or every m-th piece
//               (m threads), then the threads combine their results. Where a thread has few pieces they are
//               unrolled, so that a stage finds in registers what an earlier one has loaded and computed.
//   Columns:    a block takes up to 32 neighbouring pieces of n columns; each of its g groups of threads takes
//               every g-th row, then the groups combine their results.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Analysis/LoopsFit.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

using Values = llvm::SmallVector<Value>;

//===-- Threads ---------------------------------------------------------------------------===//

Value ThreadEmitter::wide(Value v) const { return arith::ExtUIOp::create(e.b, e.b.getI64Type(), v); }
Value ThreadEmitter::thread() const { return kernel::ThreadIdOp::create(e.b, e.b.getI32Type()); }
Value ThreadEmitter::block() const { return kernel::BlockIdOp::create(e.b, e.b.getI32Type(), kernel::Axis::X); }
Value ThreadEmitter::add(Value a, Value b) const { return arith::AddIOp::create(e.b, a, b); }
Value ThreadEmitter::mul(Value a, int64_t b) const { return b == 1 ? a : Value(arith::MulIOp::create(e.b, a, i32(b))); }
Value ThreadEmitter::div(Value a, int64_t b) const {
  return b == 1 ? a : Value(arith::DivUIOp::create(e.b, a, i32(b)));
}
Value ThreadEmitter::mod(Value a, int64_t b) const {
  return b == 1 ? i32(0) : Value(arith::RemUIOp::create(e.b, a, i32(b)));
}
Value ThreadEmitter::below(Value a, int64_t b) const {
  return arith::CmpIOp::create(e.b, arith::CmpIPredicate::ult, a, i32(b));
}

Values ThreadEmitter::loop(Value first, int64_t count, int64_t step, ValueRange init,
                           llvm::function_ref<Values(Value, ValueRange)> body) const {
  auto loop = scf::ForOp::create(e.b, first, i32(count), i32(step), init);
  OpBuilder::InsertionGuard guard(e.b);
  if (init.empty())
    e.b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    e.b.setInsertionPointToStart(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(e.b, next);
  return Values(loop.getResults());
}

namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class GpuNestEmitter : NestSpace {
public:
  /// The plan's innermost loop counts pieces, if it has neighbours (splitNeighbours).
  GpuNestEmitter(const Plan &plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results, ElementEmitter &e)
      : NestSpace(plan, dispatch, results, e), n(plan.vector), t{e} {}

  Blocks pointwise();
  Blocks tiles();
  Blocks rows();
  Blocks columns();

private:
  /// Binds the variables, whose row-major number is `linear` (i32, below 2^31).
  void bindLinear(ArrayRef<LoopVar> vars, Value linear);
  /// Replaces a symbol in the current point by another index.
  void move(SymbolId symbol, const Index &to);
  /// Calls body(i) for the n neighbours of the current piece; `space` and `keptSpace` are then those of the i-th.
  void forNeighbours(llvm::function_ref<void(int64_t)> body);
  /// Stores the results at the n neighbours. All are computed before the first is stored, since the back end
  /// cannot move a load up over a store.
  void storeNeighbours(ArrayRef<unsigned> positions, bool kept);
  /// Makes the totals the results of the stage's reductions at the current kept point.
  void defineTotals(ArrayRef<Operation *> stage, ArrayRef<Value> totals);
  /// Calls body(carried) at every piece of the reduced space whose number is first + i*step.
  Values walk(Value first, int64_t step, ValueRange init, llvm::function_ref<Values(ValueRange)> body);
  /// Does the same without a loop. `inside`, where it is not null, says whether the thread has this piece; if
  /// it has not, `space` is that of the last piece.
  void unrolled(Value first, int64_t step, llvm::function_ref<void(Value inside)> body);

  const int64_t n; ///< the number of neighbours that a thread computes
  const ThreadEmitter t;
};

} // namespace

void GpuNestEmitter::bindLinear(ArrayRef<LoopVar> vars, Value linear) {
  for (size_t i = vars.size(); i-- > 0;) {
    e.bindSymbols(vars[i].factors, t.wide(i == 0 ? linear : t.mod(linear, vars[i].extent)));
    if (i > 0)
      linear = t.div(linear, vars[i].extent);
  }
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

void GpuNestEmitter::storeNeighbours(ArrayRef<unsigned> positions, bool kept) {
  struct Store {
    unsigned result;
    Index linear;
    Value value;
  };
  llvm::SmallVector<Store> stores;
  forNeighbours([&](int64_t) {
    const Index &linear = kept ? keptSpace : space;
    for (unsigned r : positions)
      stores.push_back({r, linear, e.element(yielded[r], indexOf(yielded[r], linear))});
  });
  // The stores go result by result, so that neighbours become one access.
  for (unsigned r : positions)
    for (const Store &s : stores)
      if (s.result == r)
        e.store(results[r], s.linear, s.value);
}

//===-- Pointwise ---------------------------------------------------------------------===//

Blocks GpuNestEmitter::pointwise() {
  int64_t count = iterations(plan.kept), threads = plan.threads();
  Value at = t.add(t.mul(t.block(), threads), t.thread());
  e.when(count % threads == 0 ? Value() : t.below(at, count), [&] {
    bindLinear(plan.kept, at);
    storeNeighbours(plan.fullResults, /*kept=*/false);
  });
  return {ceilDiv(count, threads), threads};
}

Blocks GpuNestEmitter::tiles() {
  ArrayRef<LoopVar> others = ArrayRef(plan.kept).drop_back(2);
  const LoopVar &across = plan.kept[others.size()], &inner = plan.kept.back();
  int64_t side = inner.tile, pitch = kernel::tilePitch(side), acrossTiles = across.blocks(),
          innerTiles = inner.blocks();
  Value tid = t.thread(), lane = t.mod(tid, side), line = t.div(tid, side), tile = t.block();
  Value innerLow = t.mul(t.mod(tile, innerTiles), side);
  tile = t.div(tile, innerTiles);
  Value acrossLow = t.mul(t.mod(tile, acrossTiles), side);
  bindLinear(others, t.div(tile, acrossTiles));

  llvm::SmallVector<Buffer> shared;
  for (unsigned r : plan.fullResults) {
    Type element = graph::elementOf(yielded[r]);
    int64_t bytes = ElementEmitter::storageType(element).getIntOrFloatBitWidth() / 8;
    Value memory = kernel::SharedOp::create(e.b, LLVM::LLVMPointerType::get(e.b.getContext(), 3), side * pitch * bytes);
    shared.push_back({memory, RankedTensorType::get({side * pitch}, element), {}, {}});
  }
  /// Calls body(slot in the tile) for the thread's elements; neighbouring threads are neighbours along
  /// `across` or along `inner`.
  auto walkTile = [&](bool alongAcross, llvm::function_ref<void(const Index &)> body) {
    t.loop(line, side, plan.threadRows, {}, [&](Value line, ValueRange) -> Values {
      Value a = alongAcross ? lane : line, i = alongAcross ? line : lane;
      Value acrossAt = t.add(acrossLow, a), innerAt = t.add(innerLow, i), inside;
      if (across.extent % side != 0)
        inside = t.below(acrossAt, across.extent);
      if (inner.extent % side != 0) {
        Value also = t.below(innerAt, inner.extent);
        inside = inside ? Value(arith::AndIOp::create(e.b, inside, also)) : also;
      }
      e.when(inside, [&] {
        bind(across, t.wide(acrossAt));
        bind(inner, t.wide(innerAt));
        body(e.opaque(t.wide(i), 0, side - 1) * pitch + e.opaque(t.wide(a), 0, side - 1));
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

//===-- Reductions ------------------------------------------------------------------------===//

Values GpuNestEmitter::walk(Value first, int64_t step, ValueRange init, llvm::function_ref<Values(ValueRange)> body) {
  return t.loop(first, iterations(plan.reduced), step, init, [&](Value piece, ValueRange carried) {
    bindLinear(plan.reduced, piece);
    return body(carried);
  });
}

void GpuNestEmitter::defineTotals(ArrayRef<Operation *> stage, ArrayRef<Value> totals) {
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
    Value piece = low == 0 ? first : t.add(first, t.i32(low)), inside;
    if (low + step > pieces) {
      inside = t.below(piece, pieces);
      piece = arith::MinUIOp::create(e.b, piece, t.i32(pieces - 1));
    }
    Index at = e.opaque(t.wide(piece), low, std::min(low + step, pieces) - 1);
    space = whole + (at - Index::symbol(symbol)) * whole.coefficient(symbol);
    body(inside);
  }
  space = whole;
}

Blocks GpuNestEmitter::rows() {
  int64_t count = plan.keptCount(), width = plan.threadColumns, threads = plan.threads(),
          blocks = ceilDiv(count, plan.threadRows);
  bool warp = width == warpThreads;
  Value tid = t.thread(), row = t.block(), lane = tid, inside;
  if (warp) {
    row = t.add(t.mul(row, plan.threadRows), t.div(tid, warpThreads));
    lane = t.mod(tid, warpThreads);
    if (count % plan.threadRows != 0) // whole warps drop out, so shuffles stay complete
      inside = t.below(row, count);
  }
  e.when(inside, [&] {
    bindLinear(plan.kept, row);
    for (ArrayRef<Operation *> stage : plan.stages) {
      Values sums = stageInit(stage);
      if (plan.unroll) {
        unrolled(lane, width, [&](Value has) {
          Values next = sums;
          forNeighbours([&](int64_t) { next = stageStep(stage, next); });
          for (auto [sum, stepped] : llvm::zip_equal(sums, next))
            sum = has ? Value(arith::SelectOp::create(e.b, has, stepped, sum)) : stepped;
        });
      } else {
        sums = walk(lane, width, sums, [&](ValueRange carried) {
          Values next(carried);
          forNeighbours([&](int64_t) { next = stageStep(stage, next); });
          return next;
        });
      }
      ThreadReducer reducer(e, stage, {sums}, tid, warp ? warpThreads : threads, /*columns=*/1);
      defineTotals(stage, reducer.totals(0));
    }
    if (!plan.fullResults.empty()) {
      if (plan.unroll)
        unrolled(lane, width,
                 [&](Value has) { e.when(has, [&] { storeNeighbours(plan.fullResults, /*kept=*/false); }); });
      else
        walk(lane, width, {},
             [&](ValueRange) -> Values { return storeNeighbours(plan.fullResults, /*kept=*/false), Values(); });
    }
    if (!plan.rowResults.empty())
      e.when(t.below(lane, 1), [&] { storeResults(plan.rowResults, keptSpace); });
  });
  return {blocks, threads};
}

Blocks GpuNestEmitter::columns() {
  const LoopVar &column = plan.kept.back(); // its loop counts pieces of n columns
  ArrayRef<LoopVar> outer = ArrayRef<LoopVar>(plan.kept).drop_back();
  int64_t width = plan.threadColumns, groups = plan.threadRows, threads = plan.threads(),
          blocks = ceilDiv(column.extent, width);

  Value tid = t.thread(), group = t.div(tid, width), at = t.mod(tid, width), which = t.block(), inside;
  at = t.add(t.mul(t.mod(which, blocks), width), at);
  // Threads beyond the last column repeat its work and store nothing, because all threads must reach the barriers.
  if (column.extent % width != 0) {
    inside = t.below(at, column.extent);
    at = arith::MinUIOp::create(e.b, at, t.i32(column.extent - 1));
  }
  bind(column, t.wide(at));
  bindLinear(outer, t.div(which, blocks));
  auto storeRow = [&](Value has) {
    if (!plan.rowResults.empty())
      e.when(has, [&] { storeNeighbours(plan.rowResults, /*kept=*/true); });
  };
  Value first = t.below(group, 1);
  if (inside)
    first = arith::AndIOp::create(e.b, first, inside);
  for (auto [s, stageRef] : llvm::enumerate(plan.stages)) {
    ArrayRef<Operation *> stage = stageRef;
    Values init;
    for (int64_t i = 0; i < n; ++i)
      llvm::append_range(init, stageInit(stage));
    Values sums = walk(group, groups, init, [&](ValueRange carried) {
      Values all(carried), next;
      forNeighbours([&](int64_t i) {
        llvm::append_range(next, stageStep(stage, ArrayRef<Value>(all).slice(i * stage.size(), stage.size())));
      });
      return next;
    });
    llvm::SmallVector<Values> byNeighbour;
    for (int64_t i = 0; i < n; ++i)
      byNeighbour.emplace_back(ArrayRef<Value>(sums).slice(i * stage.size(), stage.size()));
    ThreadReducer reducer(e, stage, byNeighbour, tid, threads, width);
    auto defineAll = [&] { forNeighbours([&](int64_t i) { defineTotals(stage, reducer.totals(i)); }); };
    // Only the threads that store need the totals when no later stage reads them.
    if (s + 1 == plan.stages.size() && plan.fullResults.empty()) {
      // Here each thread takes one column: so the ops behind the reductions take less time, and are emitted once.
      if (s == 0 && n > 1 && reducer.inMemory() && width * n <= threads) {
        Value piece = t.add(t.mul(t.mod(which, blocks), width), t.div(tid, n)), has = t.below(tid, width * n);
        if (column.extent % width != 0)
          has = arith::AndIOp::create(e.b, has, t.below(piece, column.extent));
        e.when(has, [&] {
          Index neighbour = e.opaque(t.wide(t.mod(tid, n)), 0, n - 1);
          move(column.factors.front(), e.opaque(t.wide(piece), 0, column.extent - 1));
          move(plan.factors.size() - 1, neighbour);
          defineTotals(stage, reducer.totals(e.opaque(t.wide(t.div(tid, n)), 0, width - 1), neighbour));
          storeResults(plan.rowResults, keptSpace);
        });
        return {blocks * iterations(outer), threads};
      }
      e.when(first, [&] {
        defineAll();
        storeRow({});
      });
      return {blocks * iterations(outer), threads};
    }
    defineAll();
  }
  e.when(inside, [&] {
    walk(group, groups, {},
         [&](ValueRange) -> Values { return storeNeighbours(plan.fullResults, /*kept=*/false), Values(); });
  });
  storeRow(first);
  return {blocks * iterations(outer), threads};
}

Blocks mpc::emitGpuNest(Plan plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results, ElementEmitter &e) {
  if (plan.form == kernel::Form::Scatter)
    return emitGpuGatherGrad(dispatch, results[0], e);
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
