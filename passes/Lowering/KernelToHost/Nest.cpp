//===- Nest.cpp - loop nests of pointwise, reduction and row kernels -----------===//
//
//   Rows, [rows, cols] -> softmax:            Columns, [M, C] -> [C]:
//     for row in grid                           for block in grid            (32..64 columns)
//       for col: max                              acc[block] = 0
//       for col: sum                              for m: for c in block: acc[c] += x[m, c]
//       for col: store                            for c in block: store acc[c]
//
// Inner loops have plain induction variables, known bounds where possible and no divisions, so that LLVM can
// vectorise them.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/KernelToHost/Nest.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mpc;

namespace {

/// As many slices as the threads of a large machine need to share the work evenly.
constexpr int64_t wantedGrid = 64;
/// The elements of a slice of one long loop: 4 KiB of f32, many vector iterations.
constexpr int64_t blockElements = 1024;
/// The side of a transpose's tiles: one cache line of f32, so that 16 lines of the operand serve a whole tile.
constexpr int64_t tileElements = 16;
/// The columns that one slice of a column reduction holds: several cache lines of a row, but few enough
/// accumulators for registers.
constexpr int64_t columnBlock = 64;
/// The most additions into one f32 accumulator before it is added to a total; this bounds the error of long sums.
constexpr int64_t chainLength = 512;

class NestEmitter : NestSpace {
public:
  using NestSpace::NestSpace;

  // Each of these returns the length of the grid.
  int64_t pointwise(Value begin, Value end);
  int64_t tiles(Value begin, Value end);
  int64_t rows(Value begin, Value end);
  int64_t columns(Value begin, Value end);

private:
  /// for g in [begin, end): binds the variables, whose row-major number (with `blocks` as a further,
  /// innermost variable) is g, and emits the body.
  void grid(ArrayRef<LoopVar> vars, int64_t blocks, Value begin, Value end, llvm::function_ref<void(Value block)> body);
  /// The bounds of a block: elements [at*block, min((at+1)*block, extent)).
  std::pair<Value, Value> blockBounds(Value at, int64_t block, int64_t extent);
};

} // namespace

void NestEmitter::grid(ArrayRef<LoopVar> vars, int64_t blocks, Value begin, Value end,
                       llvm::function_ref<void(Value)> body) {
  e.loop(begin, end, {}, [&](Value g, ValueRange) -> Values {
    Value block;
    if (blocks > 1) {
      block = vars.empty() ? g : Value(arith::RemUIOp::create(e.b, g, e.i64(blocks)));
      if (!vars.empty())
        g = arith::DivUIOp::create(e.b, g, e.i64(blocks));
    }
    for (size_t i = vars.size(); i-- > 0;) {
      bind(vars[i], i == 0 ? g : Value(arith::RemUIOp::create(e.b, g, e.i64(vars[i].extent))));
      if (i > 0)
        g = arith::DivUIOp::create(e.b, g, e.i64(vars[i].extent));
    }
    body(block);
    return {};
  });
}

/// The number of leading variables that make up the grid: as few as give every thread of a large machine some work.
static size_t gridPrefix(ArrayRef<LoopVar> vars, int64_t wanted, int64_t &count) {
  count = 1;
  size_t prefix = 0;
  while (prefix < vars.size() && count < wanted)
    count *= vars[prefix++].extent;
  return prefix;
}

//===-- Pointwise ---------------------------------------------------------------------===//

int64_t NestEmitter::pointwise(Value begin, Value end) {
  ArrayRef<LoopVar> vars = plan.kept;
  if (plan.tiled >= 0)
    return tiles(begin, end);
  int64_t n = plan.neighbours();
  if (n > 1)
    vars = vars.drop_back();
  if (vars.empty()) {
    e.loop(begin, end, {}, [&](Value, ValueRange) -> Values { return storeNeighbours(n), Values(); });
    return 1;
  }
  const LoopVar &inner = vars.back();
  int64_t count;
  size_t prefix = gridPrefix(vars.drop_back(), wantedGrid, count);
  int64_t block = inner.extent;
  if (prefix == vars.size() - 1 && count < wantedGrid && inner.extent > blockElements)
    block = blockElements;
  int64_t blocks = (inner.extent + block - 1) / block;
  auto piece = [&](Value low, Value high) {
    e.loop(low, high, {}, [&](Value iv, ValueRange) -> Values {
      bind(inner, iv);
      return storeNeighbours(n), Values();
    });
  };
  auto innerLoop = [&](Value low, Value high) {
    if (plan.cuts.empty())
      return piece(low, high);
    int64_t from = 0;
    for (size_t i = 0; i <= plan.cuts.size(); ++i) {
      int64_t to = i < plan.cuts.size() ? plan.cuts[i] : inner.extent;
      e.setRange(inner.factors[0], from, to - 1);
      piece(arith::MaxSIOp::create(e.b, low, e.i64(from)), arith::MinSIOp::create(e.b, high, e.i64(to)));
      from = to;
    }
    e.setRange(inner.factors[0], 0, inner.extent - 1);
  };

  if (blocks > 1 && count == 1) { // one flat loop runs over all slices
    for (const LoopVar &outer : vars.drop_back())
      bind(outer, e.i64(0));
    Value low = arith::MulIOp::create(e.b, begin, e.i64(block)), high = arith::MulIOp::create(e.b, end, e.i64(block));
    if (inner.extent % block != 0)
      high = arith::MinSIOp::create(e.b, high, e.i64(inner.extent));
    innerLoop(low, high);
    return blocks;
  }
  grid(vars.take_front(prefix), blocks, begin, end, [&](Value at) {
    if (!at)
      return loops(vars.drop_front(prefix).drop_back(), [&] { innerLoop(e.i64(0), e.i64(inner.extent)); });
    auto [low, high] = blockBounds(at, block, inner.extent);
    innerLoop(low, high);
  });
  return count * blocks;
}

std::pair<Value, Value> NestEmitter::blockBounds(Value at, int64_t block, int64_t extent) {
  Value low = arith::MulIOp::create(e.b, at, e.i64(block)), high = arith::AddIOp::create(e.b, low, e.i64(block));
  if (extent % block != 0)
    high = arith::MinSIOp::create(e.b, high, e.i64(extent));
  return {low, high};
}

int64_t NestEmitter::tiles(Value begin, Value end) {
  const LoopVar &across = plan.kept[plan.tiled], &inner = plan.kept.back();
  // The tiles are two more variables of the grid.
  llvm::SmallVector<LoopVar> vars;
  for (auto [i, var] : llvm::enumerate(ArrayRef<LoopVar>(plan.kept).drop_back()))
    if (int(i) != plan.tiled)
      vars.push_back(var);
  auto blocksOf = [](const LoopVar &var) { return (var.extent + tileElements - 1) / tileElements; };
  int64_t acrossBlocks = blocksOf(across), innerBlocks = blocksOf(inner), count = acrossBlocks * innerBlocks;
  for (const LoopVar &var : vars)
    count *= var.extent;
  e.loop(begin, end, {}, [&](Value g, ValueRange) -> Values {
    auto take = [&](int64_t extent) {
      Value at = arith::RemUIOp::create(e.b, g, e.i64(extent));
      g = arith::DivUIOp::create(e.b, g, e.i64(extent));
      return at;
    };
    auto [innerLow, innerHigh] = blockBounds(take(innerBlocks), tileElements, inner.extent);
    auto [acrossLow, acrossHigh] = blockBounds(take(acrossBlocks), tileElements, across.extent);
    for (const LoopVar &var : llvm::reverse(vars))
      bind(var, take(var.extent));
    e.loop(acrossLow, acrossHigh, {}, [&, low = innerLow, high = innerHigh](Value a, ValueRange) -> Values {
      bind(across, a);
      e.loop(low, high, {}, [&](Value i, ValueRange) -> Values {
        bind(inner, i);
        return storeResults(plan.fullResults, space), Values();
      });
      return {};
    });
    return {};
  });
  return count;
}

//===-- Rows ------------------------------------------------------------------------------===//

int64_t NestEmitter::rows(Value begin, Value end) {
  int64_t count;
  size_t prefix = gridPrefix(plan.kept, wantedGrid, count);
  grid(ArrayRef<LoopVar>(plan.kept).take_front(prefix), 1, begin, end,
       [&](Value) { loops(ArrayRef<LoopVar>(plan.kept).drop_front(prefix), [&] { row(); }); });
  return count;
}

//===-- Columns ----------------------------------------------------------------------------===//

/// The largest divisor of n in [least, most], else `most`: with a divisor all blocks have equal length, and
/// their loops constant bounds.
static int64_t blockOf(int64_t n, int64_t least, int64_t most) {
  if (n <= most)
    return n;
  for (int64_t b = most; b >= least; --b)
    if (n % b == 0)
      return b;
  return most;
}

int64_t NestEmitter::columns(Value begin, Value end) {
  const LoopVar &column = plan.kept.back();
  ArrayRef<LoopVar> outer = ArrayRef<LoopVar>(plan.kept).drop_back();
  int64_t outerCount = 1;
  for (const LoopVar &var : outer)
    outerCount *= var.extent;
  // Blocks are narrower where there would be too few for two threads to share.
  int64_t most = outerCount * column.extent >= 4 * columnBlock ? columnBlock : columnBlock / 2;
  int64_t block = blockOf(column.extent, most / 2, most);
  int64_t blocks = (column.extent + block - 1) / block;
  bool ragged = column.extent % block != 0;

  // Each reduction has an array for running sums and one for finished values; long chains add into another one.
  Type pointer = LLVM::LLVMPointerType::get(e.b.getContext());
  auto array = [&](Type element) -> Buffer {
    OpBuilder::InsertionGuard guard(e.b);
    Value size = e.i64(block);
    e.b.setInsertionPointAfter(size.getDefiningOp());
    Value p = LLVM::AllocaOp::create(e.b, pointer, ElementEmitter::storageType(element), size, /*alignment=*/64);
    return {p, RankedTensorType::get({block}, element), {}, {}};
  };
  int64_t chain = plan.reducedCount(), first = plan.reduced.empty() ? 1 : plan.reduced.front().extent;
  int64_t chunk = std::max<int64_t>(1, chainLength / (chain / std::max<int64_t>(first, 1)));
  bool twoLevel = chain > 2 * chainLength && first > chunk;
  llvm::DenseMap<Operation *, std::array<Buffer, 3>> arrays; // partial, total, finished
  for (auto &stage : plan.stages)
    for (Operation *op : stage) {
      Type type = accumulatorType(op);
      Buffer partial = array(type);
      arrays[op] = {partial, twoLevel ? array(type) : partial,
                    array(ElementEmitter::registerType(graph::elementOf(op->getResult(0))))};
    }

  bool wasRecording = e.recording; // accesses to the arrays are not the dispatch's
  auto silently = [&](auto f) {
    e.recording = false;
    auto result = f();
    e.recording = wasRecording;
    return result;
  };
  Value base, extent;
  /// for j in block: binds the column, makes finished reductions of earlier stages visible, and calls the body.
  auto forColumns = [&](size_t stagesDone, llvm::function_ref<void(Index)> body) {
    e.loop(e.i64(0), extent, {}, [&](Value j, ValueRange) -> Values {
      bind(column, base ? Value(arith::AddIOp::create(e.b, base, j)) : j);
      Index at = e.opaque(j, 0, block - 1);
      for (auto &stage : ArrayRef(plan.stages).take_front(stagesDone))
        for (Operation *op : stage)
          define(op, silently([&] { return e.load(arrays[op][2], at); }));
      body(at);
      return {};
    });
  };
  auto read = [&](const Buffer &b, Index at) { return silently([&] { return e.load(b, at); }); };
  auto write = [&](const Buffer &b, Index at, Value v) { silently([&] { return e.store(b, at, v), 0; }); };

  int64_t count;
  size_t prefix = gridPrefix(outer, wantedGrid, count);
  grid(outer.take_front(prefix), blocks, begin, end, [&](Value which) {
    base = which ? Value(arith::MulIOp::create(e.b, which, e.i64(block))) : Value();
    extent = e.i64(block);
    if (ragged)
      extent = arith::MinSIOp::create(e.b, extent, arith::SubIOp::create(e.b, e.i64(column.extent), base));
    loops(outer.drop_front(prefix), [&] {
      for (auto [done, stageRef] : llvm::enumerate(plan.stages)) {
        ArrayRef<Operation *> stage = stageRef;
        auto fill = [&](unsigned which) {
          forColumns(0, [&](Index at) {
            for (Operation *op : stage)
              write(arrays[op][which], at, reductionInit(op, e));
          });
        };
        auto accumulate = [&] {
          forColumns(done, [&](Index at) {
            Values elements;
            for (Operation *op : stage)
              elements.push_back(reducedElement(op));
            for (auto [op, x] : llvm::zip_equal(stage, elements))
              write(arrays[op][0], at, reductionStep(op, read(arrays[op][0], at), x, e));
          });
        };
        fill(twoLevel ? 1 : 0);
        if (!twoLevel) {
          loops(plan.reduced, accumulate);
        } else {
          int64_t chunks = (first + chunk - 1) / chunk;
          e.loop(chunks, {}, [&](Value c, ValueRange) -> Values {
            fill(0);
            Value low = arith::MulIOp::create(e.b, c, e.i64(chunk)),
                  high = arith::AddIOp::create(e.b, low, e.i64(chunk));
            if (first % chunk != 0)
              high = arith::MinSIOp::create(e.b, high, e.i64(first));
            e.loop(low, high, {}, [&](Value iv, ValueRange) -> Values {
              bind(plan.reduced.front(), iv);
              loops(ArrayRef<LoopVar>(plan.reduced).drop_front(), accumulate);
              return {};
            });
            forColumns(0, [&](Index at) {
              for (Operation *op : stage) {
                Value partial = read(arrays[op][0], at);
                write(arrays[op][1], at, reductionCombine(op, read(arrays[op][1], at), partial, e));
              }
            });
            return {};
          });
        }
        forColumns(0, [&](Index at) {
          for (Operation *op : stage)
            write(arrays[op][2], at, reductionFinish(op, read(arrays[op][1], at), e));
        });
      }
      if (!plan.fullResults.empty())
        loops(plan.reduced,
              [&] { forColumns(plan.stages.size(), [&](Index) { storeResults(plan.fullResults, space); }); });
      if (!plan.rowResults.empty())
        forColumns(plan.stages.size(), [&](Index) { storeResults(plan.rowResults, keptSpace); });
    });
  });
  return count * blocks;
}

int64_t mpc::emitNest(const Plan &plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results, ElementEmitter &e,
                      Value begin, Value end) {
  if (plan.form == kernel::Form::Scatter)
    return emitScatter(dispatch, results[0], e, begin, end);
  NestEmitter nest(plan, dispatch, results, e);
  if (plan.form == kernel::Form::Pointwise)
    return nest.pointwise(begin, end);
  return plan.walk == Walk::Columns ? nest.columns(begin, end) : nest.rows(begin, end);
}
