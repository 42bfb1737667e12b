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
//   The rest:   one thread computes each slice (LoopPlan/Slices.cpp).
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "dialects/Graph/IR/Shapes.h"
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

/// The rows of a block where a warp computes a row.
constexpr int64_t rowsPerBlock = 4;
/// The most pieces of a row that a thread keeps in registers, and the most ops that unrolling them may make.
constexpr int64_t mostPieces = 4, mostUnrolledOps = 1500;
/// The largest block that a row gets; in a batch it is smaller, since all members have blocks of one size.
constexpr int64_t mostRowThreads = 1024, mostMemberThreads = blockThreads;
/// The side of a transpose's tiles, in elements, and the pitch of their rows in shared memory: with one more
/// element, walking a tile in either direction never meets a bank twice, whatever the size of elements.
constexpr int64_t tileSide = 32, tilePitch = tileSide + 1;
/// The most bytes that one access moves, the most neighbours that a thread takes, and the fewest bytes that a
/// memory access transfers.
constexpr int64_t vectorBytes = 16, mostNeighbours = 8, sectorBytes = 32;
/// Where a multiprocessor would get fewer blocks than this, the blocks of a column reduction become narrower.
constexpr int64_t wantedBlocks = 2;

int64_t product(ArrayRef<LoopVar> vars) {
  int64_t n = 1;
  for (const LoopVar &var : vars)
    n *= var.extent;
  return n;
}
int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The element size, in bytes, of the widest tensor that spans the whole space: of the results, and in
/// reductions also of the inputs.
int64_t widestBytes(const Plan &plan, kernel::DispatchOp dispatch) {
  Block &body = dispatch.getBody().front();
  int64_t bytes = 1;
  auto include = [&](ValueRange tensors) {
    for (Value v : tensors)
      if (graph::typeOf(v).getNumElements() == plan.keptCount() * plan.reducedCount())
        bytes = std::max<int64_t>(bytes, ElementEmitter::storageType(graph::elementOf(v)).getIntOrFloatBitWidth() / 8);
  };
  include(body.getTerminator()->getOperands());
  if (plan.form != kernel::Form::Pointwise)
    include(body.getArguments());
  return bytes;
}

class GpuNestEmitter : NestSpace {
public:
  /// n is the number of neighbours that a thread computes; where it is more than one, it is the extent of the
  /// innermost factor (splitNeighbours).
  GpuNestEmitter(const Plan &plan, int64_t n, kernel::DispatchOp dispatch, const GpuArch &arch,
                 ArrayRef<Buffer> results, ElementEmitter &e)
      : NestSpace(plan, dispatch, results, e), arch(arch), n(n), pieceBytes(n * widestBytes(plan, dispatch)),
        ops(llvm::range_size(dispatch.getBody().front())),
        mostThreads(isa_and_nonnull<kernel::DispatchOp>(dispatch->getParentOp()) ? mostMemberThreads : mostRowThreads),
        t{e} {}

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

  const GpuArch &arch;
  const int64_t n;
  const int64_t pieceBytes;  ///< the bytes of n neighbours
  const int64_t ops;         ///< the number of the dispatch's ops
  const int64_t mostThreads; ///< the most threads that a row gets
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

/// Splits the innermost loop into (pieces, n), whatever factors it was merged from; the n positions are
/// constants. Returns n, which is 1 where there are no such neighbours.
static int64_t splitNeighbours(Plan &plan, kernel::DispatchOp dispatch) {
  if (plan.factors.empty() || plan.tiled >= 0)
    return 1;
  bool reduced = plan.factors.back().reduced;
  if (plan.form != kernel::Form::Pointwise && reduced != (plan.walk == Walk::Rows))
    return 1;
  LoopVar &last = (reduced ? plan.reduced : plan.kept).back();
  SymbolId first = last.factors.front();
  if (first + last.factors.size() != plan.factors.size())
    return 1; // the loop's factors are not the innermost ones
  int64_t n = std::min(vectorBytes / widestBytes(plan, dispatch), mostNeighbours);
  while (n > 1 && last.extent % n != 0)
    n /= 2;
  if (n % plan.unroll != 0 && last.extent % plan.unroll == 0)
    n = plan.unroll;
  if (n == 1 && (!reduced || last.factors.size() == 1))
    return 1;
  last.extent /= n;
  last.factors = {first};
  plan.factors.resize(first);
  plan.factors.push_back({last.extent, reduced});
  if (n > 1)
    plan.factors.push_back({n, reduced});
  return n;
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
  int64_t count = product(plan.kept);
  int64_t threads = std::min(blockThreads, ceilDiv(count, warpThreads) * warpThreads);
  Value at = t.add(t.mul(t.block(), threads), t.thread());
  e.when(count % threads == 0 ? Value() : t.below(at, count), [&] {
    bindLinear(plan.kept, at);
    storeNeighbours(plan.fullResults, /*kept=*/false);
  });
  return {ceilDiv(count, threads), threads};
}

Blocks GpuNestEmitter::tiles() {
  const LoopVar &across = plan.kept[plan.tiled], &inner = plan.kept.back();
  llvm::SmallVector<LoopVar> others;
  for (auto [i, var] : llvm::enumerate(ArrayRef<LoopVar>(plan.kept).drop_back()))
    if (int(i) != plan.tiled)
      others.push_back(var);
  int64_t acrossTiles = ceilDiv(across.extent, tileSide), innerTiles = ceilDiv(inner.extent, tileSide);
  Value tid = t.thread(), lane = t.mod(tid, tileSide), line = t.div(tid, tileSide), tile = t.block();
  Value innerLow = t.mul(t.mod(tile, innerTiles), tileSide);
  tile = t.div(tile, innerTiles);
  Value acrossLow = t.mul(t.mod(tile, acrossTiles), tileSide);
  bindLinear(others, t.div(tile, acrossTiles));

  llvm::SmallVector<Buffer> shared;
  for (unsigned r : plan.fullResults) {
    Type element = graph::elementOf(yielded[r]);
    int64_t bytes = ElementEmitter::storageType(element).getIntOrFloatBitWidth() / 8;
    Value memory =
        kernel::SharedOp::create(e.b, LLVM::LLVMPointerType::get(e.b.getContext(), 3), tileSide * tilePitch * bytes);
    shared.push_back({memory, RankedTensorType::get({tileSide * tilePitch}, element), {}, {}});
  }
  /// Calls body(slot in the tile) for the thread's elements; neighbouring threads are neighbours along
  /// `across` or along `inner`.
  auto walkTile = [&](bool alongAcross, llvm::function_ref<void(const Index &)> body) {
    t.loop(line, tileSide, blockThreads / tileSide, {}, [&](Value line, ValueRange) -> Values {
      Value a = alongAcross ? lane : line, i = alongAcross ? line : lane;
      Value acrossAt = t.add(acrossLow, a), innerAt = t.add(innerLow, i), inside;
      if (across.extent % tileSide != 0)
        inside = t.below(acrossAt, across.extent);
      if (inner.extent % tileSide != 0) {
        Value also = t.below(innerAt, inner.extent);
        inside = inside ? Value(arith::AndIOp::create(e.b, inside, also)) : also;
      }
      e.when(inside, [&] {
        bind(across, t.wide(acrossAt));
        bind(inner, t.wide(innerAt));
        body(e.opaque(t.wide(i), 0, tileSide - 1) * tilePitch + e.opaque(t.wide(a), 0, tileSide - 1));
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
  return {product(others) * acrossTiles * innerTiles, blockThreads};
}

//===-- Reductions ------------------------------------------------------------------------===//

Values GpuNestEmitter::walk(Value first, int64_t step, ValueRange init, llvm::function_ref<Values(ValueRange)> body) {
  return t.loop(first, product(plan.reduced), step, init, [&](Value piece, ValueRange carried) {
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
  int64_t count = plan.keptCount(), pieces = product(plan.reduced);
  int64_t width = warpThreads; // the threads of a row
  while (width < mostThreads && pieces > width * mostPieces)
    width *= 2;
  bool severalPasses = plan.stages.size() > 1 || !plan.fullResults.empty();
  bool unrolls = severalPasses && plan.reduced.size() == 1 && plan.reduced.front().factors.size() == 1 &&
                 pieces <= width * mostPieces && ceilDiv(pieces, width) * n * ops <= mostUnrolledOps;
  bool warp = width == warpThreads;
  int64_t threads = warp ? rowsPerBlock * warpThreads : width, blocks = warp ? ceilDiv(count, rowsPerBlock) : count;
  Value tid = t.thread(), row = t.block(), lane = tid, inside;
  if (warp) {
    row = t.add(t.mul(row, rowsPerBlock), t.div(tid, warpThreads));
    lane = t.mod(tid, warpThreads);
    if (count % rowsPerBlock != 0) // whole warps drop out, so shuffles stay complete
      inside = t.below(row, count);
  }
  e.when(inside, [&] {
    bindLinear(plan.kept, row);
    for (ArrayRef<Operation *> stage : plan.stages) {
      Values sums = stageInit(stage);
      if (unrolls) {
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
      if (unrolls)
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
  // Widths are powers of two, so that the threads of a column can use shuffles.
  int64_t width = warpThreads;
  while (width > 1 && width / 2 >= column.extent)
    width /= 2;
  // Where there are few columns, blocks get narrower so that there are more of them, as long as a block's
  // part of a row is a whole sector.
  while (width * pieceBytes > sectorBytes &&
         ceilDiv(column.extent, width) * product(outer) < wantedBlocks * arch.multiprocessors)
    width /= 2;
  int64_t groups = blockThreads / width;
  while (groups > warpThreads / width && groups / 2 >= plan.reducedCount())
    groups /= 2;
  int64_t threads = width * groups, blocks = ceilDiv(column.extent, width);

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
        return {blocks * product(outer), threads};
      }
      e.when(first, [&] {
        defineAll();
        storeRow({});
      });
      return {blocks * product(outer), threads};
    }
    defineAll();
  }
  e.when(inside, [&] {
    walk(group, groups, {},
         [&](ValueRange) -> Values { return storeNeighbours(plan.fullResults, /*kept=*/false), Values(); });
  });
  storeRow(first);
  return {blocks * product(outer), threads};
}

Blocks mpc::emitGpuNest(Plan plan, kernel::DispatchOp dispatch, const GpuArch &arch, ArrayRef<Buffer> results,
                        ElementEmitter &e) {
  if (plan.form == kernel::Form::Scatter)
    return emitGpuGatherGrad(dispatch, results[0], e);
  if (plan.form == kernel::Form::TransposedCopy)
    return emitGpuTransposedCopy(dispatch, results, e);
  int64_t n = splitNeighbours(plan, dispatch);
  GpuNestEmitter nest(plan, n, dispatch, arch, results, e);
  if (plan.form == kernel::Form::Pointwise)
    return plan.tiled >= 0 ? nest.tiles() : nest.pointwise();
  return plan.walk == Walk::Columns ? nest.columns() : nest.rows();
}
