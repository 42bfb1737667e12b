//===- Nest.cpp - loop nests of pointwise, reduction and row kernels -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
#include "dialects/Kernel/Analysis/SameCode.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mpc;

namespace {

class NestEmitter : NestSpace {
public:
  using NestSpace::NestSpace;

  // Each of these returns the length of the grid.
  int64_t flat(Value begin, Value end);
  int64_t pointwise(Value begin, Value end);
  int64_t tiles(Value begin, Value end);
  int64_t rows(Value begin, Value end);
  int64_t columns(Value begin, Value end);

private:
  /// for g in [begin, end): binds the variables, whose row-major number (with `blocks` as a further,
  /// innermost variable) is g, and emits the body.
  void grid(ArrayRef<LoopVar> vars, int64_t blocks, Value begin, Value end, llvm::function_ref<void(Value block)> body);
  /// The arrays of a reduction, with an element for each column of a block: the values that run, those of finished
  /// chunks of the reduced loop, and the results. A loop that is not cut into chunks has one array for the first two.
  struct ColumnArray {
    Buffer partial, total, finished;
  };
  using ColumnArrays = DenseMap<Operation *, ColumnArray>;
  /// The columns that are reduced together.
  struct ColumnBlock {
    Value first;  ///< null where there is one block
    Value extent; ///< the number of columns
    ColumnArrays arrays;
  };
  using Stages = ArrayRef<llvm::SmallVector<Operation *>>;
  ColumnArrays makeColumnArrays();
  /// for j in block: binds the column, makes the results of finished stages visible, and calls body(j).
  void forColumns(const ColumnBlock &at, Stages finished, llvm::function_ref<void(Index)> body);
  /// Emits the loops of the stage with this number.
  void reduceColumns(const ColumnBlock &at, size_t number);
  /// The bounds of a block: elements [at*block, min((at+1)*block, extent)).
  std::pair<Value, Value> blockBounds(Value at, int64_t block, int64_t extent);
};

} // namespace

void NestEmitter::grid(ArrayRef<LoopVar> vars, int64_t blocks, Value begin, Value end,
                       llvm::function_ref<void(Value)> body) {
  e.loop(begin, end, {}, [&](Value g, ValueRange) -> Values {
    Value block;
    if (blocks > 1) {
      block = vars.empty() ? g : e.rem(g, blocks, /*isUnsigned=*/true);
      if (!vars.empty())
        g = e.div(g, blocks, /*isUnsigned=*/true);
    }
    for (size_t i = vars.size(); i-- > 0;) {
      bind(vars[i], i == 0 ? g : e.rem(g, vars[i].extent, /*isUnsigned=*/true));
      if (i > 0)
        g = e.div(g, vars[i].extent, /*isUnsigned=*/true);
    }
    body(block);
    return {};
  });
}

//===-- Pointwise ---------------------------------------------------------------------===//

int64_t NestEmitter::flat(Value begin, Value end) {
  const LoopVar &elements = plan.kept.back();
  Value element;
  e.loop(begin, end, {}, [&](Value iv, ValueRange) -> Values {
    element = iv;
    bind(elements, iv);
    return storeNeighbours(1), Values();
  });
  // Places in a reshaped tensor leave quotients behind, which the number of the element does not need.
  Block &body = *element.getParentBlock();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return elements.extent;
}

int64_t NestEmitter::pointwise(Value begin, Value end) {
  ArrayRef<LoopVar> vars = plan.kept;
  if (plan.vector > 1)
    vars = vars.drop_back();
  if (vars.empty()) {
    e.loop(begin, end, {}, [&](Value, ValueRange) -> Values { return storeNeighbours(plan.vector), Values(); });
    return 1;
  }
  const LoopVar &inner = vars.back();
  ArrayRef<LoopVar> shared = vars.take_front(plan.parallel);
  int64_t count = iterations(shared), block = inner.block(), blocks = inner.blocks();
  auto piece = [&](Value low, Value high) {
    e.loop(low, high, {}, [&](Value iv, ValueRange) -> Values {
      bind(inner, iv);
      return storeNeighbours(plan.vector), Values();
    });
  };
  auto innerLoop = [&](Value low, Value high) {
    if (plan.cuts.empty())
      return piece(low, high);
    int64_t from = 0;
    for (size_t i = 0; i <= plan.cuts.size(); ++i) {
      int64_t to = i < plan.cuts.size() ? plan.cuts[i] : inner.extent;
      e.setRange(inner.factors[0], from, to - 1);
      Value until = e.min(high, to);
      piece(e.max(low, from), until);
      from = to;
    }
    e.setRange(inner.factors[0], 0, inner.extent - 1);
  };

  if (blocks > 1 && iterations(vars.drop_back()) == 1) { // one flat loop runs over all slices
    for (const LoopVar &outer : vars.drop_back())
      bind(outer, e.i64(0));
    Value low = e.mul(begin, block), high = e.mul(end, block);
    if (inner.extent % block != 0)
      high = e.min(high, inner.extent);
    innerLoop(low, high);
    return blocks;
  }
  grid(shared, blocks, begin, end, [&](Value at) {
    loops(vars.drop_front(plan.parallel).drop_back(), [&] {
      if (!at) {
        Value extent = e.i64(inner.extent);
        return innerLoop(e.i64(0), extent);
      }
      auto [low, high] = blockBounds(at, block, inner.extent);
      innerLoop(low, high);
    });
  });
  return count * blocks;
}

std::pair<Value, Value> NestEmitter::blockBounds(Value at, int64_t block, int64_t extent) {
  Value low = e.mul(at, block), high = e.add(low, block);
  if (extent % block != 0)
    high = e.min(high, extent);
  return {low, high};
}

int64_t NestEmitter::tiles(Value begin, Value end) {
  // The tiles are two more variables of the grid.
  ArrayRef<LoopVar> vars = ArrayRef(plan.kept).drop_back(2);
  const LoopVar &across = plan.kept[vars.size()], &inner = plan.kept.back();
  e.loop(begin, end, {}, [&](Value g, ValueRange) -> Values {
    auto take = [&](int64_t extent) {
      Value at = e.rem(g, e.i64(extent), /*isUnsigned=*/true);
      g = e.div(g, e.i64(extent), /*isUnsigned=*/true);
      return at;
    };
    auto [innerLow, innerHigh] = blockBounds(take(inner.blocks()), inner.tile, inner.extent);
    auto [acrossLow, acrossHigh] = blockBounds(take(across.blocks()), across.tile, across.extent);
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
  return iterations(vars) * across.blocks() * inner.blocks();
}

//===-- Rows ------------------------------------------------------------------------------===//

int64_t NestEmitter::rows(Value begin, Value end) {
  ArrayRef<LoopVar> shared = ArrayRef(plan.kept).take_front(plan.parallel);
  grid(shared, 1, begin, end, [&](Value) { loops(ArrayRef(plan.kept).drop_front(plan.parallel), [&] { row(); }); });
  return iterations(shared);
}

//===-- Columns ----------------------------------------------------------------------------===//

NestEmitter::ColumnArrays NestEmitter::makeColumnArrays() {
  int64_t block = plan.kept.back().block();
  auto array = [&](Type element) -> Buffer {
    OpBuilder::InsertionGuard guard(e.b);
    Value size = e.i64(block);
    e.b.setInsertionPointAfter(size.getDefiningOp());
    Value p = LLVM::AllocaOp::create(e.b, LLVM::LLVMPointerType::get(e.b.getContext()),
                                     ElementEmitter::storageType(element), size, /*alignment=*/64);
    return {p, RankedTensorType::get({block}, element), {}, {}};
  };
  ColumnArrays arrays;
  for (auto &stage : plan.stages)
    for (Operation *op : stage) {
      Type type = accumulatorType(op);
      ColumnArray &of = arrays[op];
      of.total = of.partial = array(type);
      if (llvm::any_of(plan.reduced, [](const LoopVar &loop) { return loop.tile > 0; }))
        of.total = array(type);
      of.finished = array(ElementEmitter::registerType(graph::elementOf(op->getResult(0))));
    }
  return arrays;
}

void NestEmitter::forColumns(const ColumnBlock &at, Stages finished, llvm::function_ref<void(Index)> body) {
  const LoopVar &column = plan.kept.back();
  e.loop(e.i64(0), at.extent, {}, [&](Value j, ValueRange) -> Values {
    bind(column, at.first ? e.add(at.first, j) : j);
    Index place = e.opaque(j, 0, column.block() - 1);
    for (auto &stage : finished)
      for (Operation *op : stage)
        define(op, e.load(at.arrays.at(op).finished, place));
    body(place);
    return {};
  });
}

void NestEmitter::reduceColumns(const ColumnBlock &at, size_t number) {
  ArrayRef<Operation *> stage = plan.stages[number];
  auto fill = [&](Buffer ColumnArray::*array) {
    forColumns(at, {}, [&](Index place) {
      for (Operation *op : stage)
        e.store(at.arrays.at(op).*array, place, reductionInit(op, e));
    });
  };
  auto accumulate = [&] {
    forColumns(at, Stages(plan.stages).take_front(number), [&](Index place) {
      Values elements;
      for (Operation *op : stage)
        elements.push_back(reducedElement(op));
      for (auto [op, x] : llvm::zip_equal(stage, elements)) {
        const Buffer &partial = at.arrays.at(op).partial;
        e.store(partial, place, reductionStep(op, e.load(partial, place), x, e));
      }
    });
  };
  ArrayRef<LoopVar> reduced = plan.reduced;
  const LoopVar *tiled = llvm::find_if(reduced, [](const LoopVar &loop) { return loop.tile > 0; });
  fill(&ColumnArray::total);
  if (tiled == reduced.end()) {
    loops(reduced, accumulate);
  } else {
    auto chain = [&](Value c, ValueRange) -> Values {
      fill(&ColumnArray::partial);
      auto [low, high] = blockBounds(c, tiled->tile, tiled->extent);
      e.loop(low, high, {}, [&](Value iv, ValueRange) -> Values {
        bind(*tiled, iv);
        loops(ArrayRef(tiled + 1, reduced.end()), accumulate);
        return {};
      });
      forColumns(at, {}, [&](Index place) {
        for (Operation *op : stage) {
          const ColumnArray &of = at.arrays.at(op);
          Value partial = e.load(of.partial, place);
          e.store(of.total, place, reductionCombine(op, e.load(of.total, place), partial, e));
        }
      });
      return {};
    };
    loops(ArrayRef(reduced.begin(), tiled), [&] { e.loop(tiled->blocks(), {}, chain); });
  }
  forColumns(at, {}, [&](Index place) {
    for (Operation *op : stage)
      e.store(at.arrays.at(op).finished, place, reductionFinish(op, e.load(at.arrays.at(op).total, place), e));
  });
}

int64_t NestEmitter::columns(Value begin, Value end) {
  const LoopVar &column = plan.kept.back();
  ArrayRef<LoopVar> outer = ArrayRef(plan.kept).drop_back(), shared = outer.take_front(plan.parallel);
  int64_t block = column.block(), blocks = column.blocks();
  ColumnBlock at{Value(), Value(), makeColumnArrays()};
  grid(shared, blocks, begin, end, [&](Value which) {
    if (which)
      at.first = e.mul(which, e.i64(block));
    at.extent = e.i64(block);
    if (column.extent % block != 0)
      at.extent = e.min(at.extent, e.sub(e.i64(column.extent), at.first));
    loops(outer.drop_front(plan.parallel), [&] {
      for (size_t stage = 0; stage < plan.stages.size(); ++stage)
        reduceColumns(at, stage);
      if (!plan.fullResults.empty())
        loops(plan.reduced,
              [&] { forColumns(at, plan.stages, [&](Index) { storeResults(plan.fullResults, space); }); });
      if (!plan.rowResults.empty())
        forColumns(at, plan.stages, [&](Index) { storeResults(plan.rowResults, keptSpace); });
    });
  });
  return iterations(shared) * blocks;
}

int64_t mpc::emitNest(const Plan &plan, kernel::DispatchOp dispatch, ArrayRef<Buffer> results, ElementEmitter &e,
                      Value begin, Value end) {
  if (plan.form == kernel::Form::Scatter)
    return emitScatter(dispatch, results[0], e, begin, end);
  NestEmitter nest(plan, dispatch, results, e);
  switch (plan.walk) {
  case kernel::Walk::Points:
    return kernel::isFlat(dispatch) ? nest.flat(begin, end) : nest.pointwise(begin, end);
  case kernel::Walk::Tiles:
    return nest.tiles(begin, end);
  case kernel::Walk::Rows:
    return nest.rows(begin, end);
  case kernel::Walk::Columns:
    return nest.columns(begin, end);
  case kernel::Walk::Copies:
    break;
  }
  llvm_unreachable("values and their transposes in one walk are for GPUs");
}
