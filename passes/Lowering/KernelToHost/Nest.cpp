//===- Nest.cpp - loop nests of pointwise, reduction and row kernels -----------===//
//
//   Rows, [rows, cols] -> softmax:            Columns, [M, C] -> [C]:
//     for row in grid                           for block in grid            (32..64 columns)
//       for col: max                              acc[block] = 0
//       for col: sum                              for m: for c in block: acc[c] += x[m, c]
//       for col: store                            for c in block: store acc[c]
//
// Inner loops have plain induction variables, known bounds where possible and no divisions: LLVM's vectoriser does the rest.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "passes/Lowering/KernelToHost/Plan.h"

using namespace mlir;
using namespace mpc;

namespace {

/// Enough slices for the threads of a large machine to share evenly.
constexpr int64_t wantedGrid = 64;
/// Elements of a slice of one long loop: 4 KiB of f32, many vector iterations.
constexpr int64_t blockElements = 1024;
/// A side of the tiles of a transpose: one cache line of f32, so that 16 lines of the operand serve a whole tile.
constexpr int64_t tileElements = 16;
/// Columns that one slice of a column reduction holds: several cache lines a row, few enough accumulators for registers.
constexpr int64_t columnBlock = 64;
/// Additions into one f32 accumulator before it is added to a total: bounds the error of long sums.
constexpr int64_t chainLength = 512;

using Values = llvm::SmallVector<Value>;

class NestEmitter {
public:
  NestEmitter(const Plan &plan, kernel::DispatchOp dispatch, const KernelBuffers &buffers, ElementEmitter &e)
      : plan(plan), dispatch(dispatch), buffers(buffers), e(e),
        yielded(dispatch.getBody().front().getTerminator()->getOperands()) {
    int64_t stride = 1;
    for (SymbolId i = plan.factors.size(); i-- > 0; stride *= plan.factors[i].extent)
      space = space + Index::symbol(i, stride);
    stride = 1;
    for (SymbolId i = plan.factors.size(); i-- > 0;)
      if (!plan.factors[i].reduced) {
        keptSpace = keptSpace + Index::symbol(i, stride);
        stride *= plan.factors[i].extent;
      }
  }

  LaunchShape pointwise(Value begin, Value end);
  LaunchShape tiles(Value begin, Value end);
  LaunchShape rows(Value begin, Value end);
  LaunchShape columns(Value begin, Value end);
  LaunchShape irregular(Value begin, Value end);

private:
  void bind(const LoopVar &var, Value v) { e.bindSymbols(var.factors, v); }
  IndexVector indexOf(Value tensor, const Index &linear) { return e.delinearize(linear, graph::shapeOf(tensor)); }
  IndexVector reducedIndexOf(Operation *reduction);

  /// Loops over `vars`, binding them; the body is innermost.
  Values loops(ArrayRef<LoopVar> vars, ArrayRef<Value> init, llvm::function_ref<Values(ArrayRef<Value>)> body);
  void loops(ArrayRef<LoopVar> vars, llvm::function_ref<void()> body) {
    loops(vars, {}, [&](ArrayRef<Value>) { return body(), Values(); });
  }
  /// for g in [begin, end): binds the variables whose row-major number (with `blocks` as a further, innermost one) is g.
  void grid(ArrayRef<LoopVar> vars, int64_t blocks, Value begin, Value end, llvm::function_ref<void(Value block)> body);
  void pointwiseBody(bool unrolled);
  std::pair<Value, Value> blockBounds(Value at, int64_t block, int64_t extent);
  void storeResults(ArrayRef<unsigned> results, const Index &linear);

  const Plan &plan;
  kernel::DispatchOp dispatch;
  const KernelBuffers &buffers;
  ElementEmitter &e;
  ValueRange yielded;
  Index space, keptSpace; ///< row-major number in the full space, and among the kept points
};

} // namespace

IndexVector NestEmitter::reducedIndexOf(Operation *reduction) {
  IndexVector operand = indexOf(reduction->getOperand(0), space), result;
  ArrayRef<int64_t> axes = cast<DenseI64ArrayAttr>(reduction->getAttr("axes")).asArrayRef();
  bool keepdims = cast<BoolAttr>(reduction->getAttr("keepdims")).getValue();
  for (auto [d, i] : llvm::enumerate(operand)) {
    if (!llvm::is_contained(axes, int64_t(d)))
      result.push_back(i);
    else if (keepdims)
      result.push_back(Index(0));
  }
  return result;
}

Values NestEmitter::loops(ArrayRef<LoopVar> vars, ArrayRef<Value> init, llvm::function_ref<Values(ArrayRef<Value>)> body) {
  if (vars.empty())
    return body(init);
  return e.loop(vars.front().extent, init, [&](Value iv, ValueRange carried) {
    bind(vars.front(), iv);
    return loops(vars.drop_front(), Values(carried), body);
  });
}

void NestEmitter::grid(ArrayRef<LoopVar> vars, int64_t blocks, Value begin, Value end, llvm::function_ref<void(Value)> body) {
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

void NestEmitter::storeResults(ArrayRef<unsigned> results, const Index &linear) {
  // All values first: a result may share the buffer of an operand that another one reads at the same index.
  Values values;
  for (unsigned r : results)
    values.push_back(e.element(yielded[r], indexOf(yielded[r], linear)));
  for (auto [r, v] : llvm::zip_equal(results, values))
    e.store(buffers.results[r], linear, v);
}

/// How many leading variables make up the grid: as few as give every thread of a large machine something.
static size_t gridPrefix(ArrayRef<LoopVar> vars, int64_t wanted, int64_t &count) {
  count = 1;
  size_t prefix = 0;
  while (prefix < vars.size() && count < wanted)
    count *= vars[prefix++].extent;
  return prefix;
}

//===-- Pointwise ---------------------------------------------------------------------===//

/// One iteration of a pointwise nest: one element, or `unroll` neighbours with constant positions.
void NestEmitter::pointwiseBody(bool unrolled) {
  if (!unrolled)
    return storeResults(plan.fullResults, space);
  SymbolId last = plan.kept.back().factors.back();
  for (int64_t i = 0; i < plan.unroll; ++i)
    storeResults(plan.fullResults, space - Index::symbol(last) + Index(i));
}

LaunchShape NestEmitter::pointwise(Value begin, Value end) {
  ArrayRef<LoopVar> vars = plan.kept;
  if (plan.tiled >= 0)
    return tiles(begin, end);
  bool unrolled = plan.unroll > 1 && !vars.empty() && vars.back().extent == plan.unroll && vars.back().factors.size() == 1;
  if (unrolled)
    vars = vars.drop_back();
  if (vars.empty()) {
    e.loop(begin, end, {}, [&](Value, ValueRange) -> Values { return pointwiseBody(unrolled), Values(); });
    return {1, 1};
  }
  const LoopVar &inner = vars.back();
  int64_t count;
  size_t prefix = gridPrefix(vars.drop_back(), wantedGrid, count);
  int64_t block = inner.extent;
  if (prefix == vars.size() - 1 && count < wantedGrid && inner.extent > blockElements)
    block = blockElements;
  int64_t blocks = (inner.extent + block - 1) / block;
  auto innerLoop = [&](Value low, Value high) {
    e.loop(low, high, {}, [&](Value iv, ValueRange) -> Values {
      bind(inner, iv);
      return pointwiseBody(unrolled), Values();
    });
  };

  if (blocks > 1 && count == 1) { // one flat loop over all slices
    for (const LoopVar &outer : vars.drop_back())
      bind(outer, e.i64(0));
    Value low = arith::MulIOp::create(e.b, begin, e.i64(block)), high = arith::MulIOp::create(e.b, end, e.i64(block));
    if (inner.extent % block != 0)
      high = arith::MinSIOp::create(e.b, high, e.i64(inner.extent));
    innerLoop(low, high);
    return {blocks, 1};
  }
  grid(vars.take_front(prefix), blocks, begin, end, [&](Value at) {
    if (!at)
      return loops(vars.drop_front(prefix), [&] { pointwiseBody(unrolled); });
    auto [low, high] = blockBounds(at, block, inner.extent);
    innerLoop(low, high);
  });
  return {count * blocks, 1};
}

/// Elements [at*block, min((at+1)*block, extent)).
std::pair<Value, Value> NestEmitter::blockBounds(Value at, int64_t block, int64_t extent) {
  Value low = arith::MulIOp::create(e.b, at, e.i64(block)), high = arith::AddIOp::create(e.b, low, e.i64(block));
  if (extent % block != 0)
    high = arith::MinSIOp::create(e.b, high, e.i64(extent));
  return {low, high};
}

LaunchShape NestEmitter::tiles(Value begin, Value end) {
  const LoopVar &across = plan.kept[plan.tiled], &inner = plan.kept.back();
  // Tiles as two more variables of the grid.
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
  return {count, 1};
}

//===-- Rows ------------------------------------------------------------------------------===//

LaunchShape NestEmitter::rows(Value begin, Value end) {
  int64_t count;
  size_t prefix = gridPrefix(plan.kept, wantedGrid, count);
  grid(ArrayRef<LoopVar>(plan.kept).take_front(prefix), 1, begin, end, [&](Value) {
    loops(ArrayRef<LoopVar>(plan.kept).drop_front(prefix), [&] {
      for (ArrayRef<Operation *> stage : plan.stages) {
        Values init;
        for (Operation *op : stage)
          init.push_back(reductionInit(op, e));
        Values sums = loops(plan.reduced, init, [&](ArrayRef<Value> carried) {
          Values next;
          for (auto [op, acc] : llvm::zip_equal(stage, carried))
            next.push_back(reductionStep(op, acc, e.element(op->getOperand(0), indexOf(op->getOperand(0), space)), e));
          return next;
        });
        for (auto [op, acc] : llvm::zip_equal(stage, sums))
          e.define(op->getResult(0), reducedIndexOf(op), reductionFinish(op, acc, e));
      }
      if (!plan.fullResults.empty())
        loops(plan.reduced, [&] { storeResults(plan.fullResults, space); });
      storeResults(plan.rowResults, keptSpace);
    });
  });
  return {count, 1};
}

//===-- Columns ----------------------------------------------------------------------------===//

/// The largest divisor of n in [least, most], else `most`: blocks of equal length have constant bounds.
static int64_t blockOf(int64_t n, int64_t least, int64_t most) {
  if (n <= most)
    return n;
  for (int64_t b = most; b >= least; --b)
    if (n % b == 0)
      return b;
  return most;
}

LaunchShape NestEmitter::columns(Value begin, Value end) {
  const LoopVar &column = plan.kept.back();
  ArrayRef<LoopVar> outer = ArrayRef<LoopVar>(plan.kept).drop_back();
  int64_t outerCount = 1;
  for (const LoopVar &var : outer)
    outerCount *= var.extent;
  // Narrower blocks where there would be too few for two threads to share.
  int64_t most = outerCount * column.extent >= 4 * columnBlock ? columnBlock : columnBlock / 2;
  int64_t block = blockOf(column.extent, most / 2, most);
  int64_t blocks = (column.extent + block - 1) / block;
  bool ragged = column.extent % block != 0;

  // One array per reduction for running sums, one for finished values; long chains add into a second one.
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
      arrays[op] = {partial, twoLevel ? array(type) : partial, array(ElementEmitter::registerType(graph::elementOf(op->getResult(0))))};
    }

  bool wasRecording = e.recording; // array accesses are not the dispatch's
  auto silently = [&](auto f) {
    e.recording = false;
    auto result = f();
    e.recording = wasRecording;
    return result;
  };
  Value base, extent;
  /// for j in block: binds the column, makes finished reductions of earlier stages visible.
  auto forColumns = [&](size_t stagesDone, llvm::function_ref<void(Index)> body) {
    e.loop(e.i64(0), extent, {}, [&](Value j, ValueRange) -> Values {
      bind(column, base ? Value(arith::AddIOp::create(e.b, base, j)) : j);
      Index at = e.opaque(j, 0, block - 1);
      for (auto &stage : ArrayRef(plan.stages).take_front(stagesDone))
        for (Operation *op : stage)
          e.define(op->getResult(0), reducedIndexOf(op), silently([&] { return e.load(arrays[op][2], at); }));
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
              elements.push_back(e.element(op->getOperand(0), indexOf(op->getOperand(0), space)));
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
            Value low = arith::MulIOp::create(e.b, c, e.i64(chunk)), high = arith::AddIOp::create(e.b, low, e.i64(chunk));
            if (first % chunk != 0)
              high = arith::MinSIOp::create(e.b, high, e.i64(first));
            e.loop(low, high, {}, [&](Value iv, ValueRange) -> Values {
              bind(plan.reduced.front(), iv);
              loops(ArrayRef<LoopVar>(plan.reduced).drop_front(), accumulate);
              return {};
            });
            forColumns(0, [&](Index at) {
              for (Operation *op : stage) {
                // A partial sum is combined like an element, but is an accumulator already.
                Value partial = read(arrays[op][0], at);
                if (isa<graph::ReduceAnyOp>(op))
                  partial = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, partial, e.constantInt(partial.getType(), 0));
                write(arrays[op][1], at, reductionStep(op, read(arrays[op][1], at), partial, e));
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
        loops(plan.reduced, [&] { forColumns(plan.stages.size(), [&](Index) { storeResults(plan.fullResults, space); }); });
      if (!plan.rowResults.empty())
        forColumns(plan.stages.size(), [&](Index) { storeResults(plan.rowResults, keptSpace); });
    });
  });
  return {count * blocks, 1};
}

//===-- The rest -----------------------------------------------------------------------------===//

/// Any dispatch: one nest per result, reductions inline. Correct, not fast.
LaunchShape NestEmitter::irregular(Value begin, Value end) {
  e.loop(begin, end, {}, [&](Value, ValueRange) -> Values {
    for (auto [r, v] : llvm::enumerate(yielded)) {
      int64_t n = graph::typeOf(v).getNumElements();
      e.loop(n, {}, [&](Value iv, ValueRange) -> Values {
        Index linear = e.opaque(iv, 0, n - 1);
        e.store(buffers.results[r], linear, e.element(v, indexOf(v, linear)));
        return {};
      });
    }
    return {};
  });
  return {1, 1};
}

LaunchShape mpc::emitNest(const Plan &plan, kernel::DispatchOp dispatch, const KernelBuffers &buffers, ElementEmitter &e,
                          Value begin, Value end) {
  for (const Factor &f : plan.factors)
    e.addSymbol(f.extent);
  NestEmitter nest(plan, dispatch, buffers, e);
  if (plan.irregular)
    return nest.irregular(begin, end);
  if (plan.form == LoopForm::Pointwise)
    return nest.pointwise(begin, end);
  return plan.schedule == Schedule::Columns ? nest.columns(begin, end) : nest.rows(begin, end);
}
