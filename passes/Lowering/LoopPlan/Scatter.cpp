//===- Scatter.cpp - graph.scatter on hosts -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPUs have a kernel of their own (KernelToGpu/Scatter.cpp). On hosts:
//
//   for (a, block of b) in grid:
//     for v: y[a, v, block] = identity
//     for i: y[a, indices[i], block] = combine(y[a, indices[i], block], updates[a, i, block])
//
// One thread owns every address that it changes, and goes in the order of i, so the result is deterministic.
// Since it combines in memory, 16-bit floats are not possible; mpc-decompose widens them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"

using namespace mlir;
using namespace mpc;

using Values = llvm::SmallVector<Value>;

Value mpc::scatterInit(graph::ScatterOp op, ElementEmitter &e) {
  Type type = ElementEmitter::registerType(graph::elementOf(op.getY()));
  TypedAttr identity = identityOf(op.getCombiner(), graph::elementOf(op.getY()));
  if (auto number = dyn_cast<FloatAttr>(identity))
    return e.constant(type, number.getValueAsDouble());
  return e.constantInt(type, cast<IntegerAttr>(identity).getValue().getSExtValue());
}

Value mpc::scatterCombine(graph::ScatterOp op, Value a, Value b, ElementEmitter &e) {
  const bool isUnsigned = graph::elementOf(op.getY()).isUnsignedInteger();
  switch (op.getMode()) {
  case graph::ScatterMode::add:
    return e.add(a, b);
  case graph::ScatterMode::multiply:
    return e.mul(a, b);
  case graph::ScatterMode::max:
    return e.max(a, b, isUnsigned);
  case graph::ScatterMode::min:
    return e.min(a, b, isUnsigned);
  }
  llvm_unreachable("all modes are handled");
}

int64_t mpc::emitScatter(kernel::DispatchOp dispatch, const Buffer &result, ElementEmitter &e, Value begin, Value end) {
  auto op = cast<graph::ScatterOp>(dispatch.yielded()[0].getDefiningOp());
  ArrayRef<int64_t> y = graph::shapeOf(op.getY()), indices = graph::shapeOf(op.getIndices());
  size_t axis = op.getAxis();
  ArrayRef<int64_t> before = y.take_front(axis), after = y.drop_front(axis + 1);
  int64_t outer = llvm::product_of(before), inner = llvm::product_of(after), rows = y[axis],
          count = llvm::product_of(indices);
  constexpr int64_t block = hostBlocks.columns;
  int64_t blocks = std::max<int64_t>(1, (inner + block - 1) / block);

  e.loop(begin, end, {}, [&](Value g, ValueRange) -> Values {
    Index at = e.opaque(g, 0, outer * blocks - 1);
    Index a = e.floorDiv(at, blocks), b = e.mod(at, blocks);
    Value low = e.materialize(b * block);
    Value high = e.min(e.add(low, block), inner);
    auto forColumns = [&](llvm::function_ref<void(Index)> body) {
      e.loop(low, high, {}, [&](Value c, ValueRange) -> Values { return body(e.opaque(c, 0, inner - 1)), Values(); });
    };
    auto address = [&](const Index &row, const Index &column) { return (a * rows + row) * inner + column; };
    Value init = scatterInit(op, e);
    e.loop(rows, {}, [&](Value v, ValueRange) -> Values {
      Index row = e.opaque(v, 0, rows - 1);
      forColumns([&](Index c) { e.store(result, address(row, c), init); });
      return {};
    });
    e.loop(count, {}, [&](Value iv, ValueRange) -> Values {
      IndexVector i = e.delinearize(e.opaque(iv, 0, count - 1), indices);
      Value v = e.operand(op, 1, i);
      if (v.getType() != e.b.getI64Type())
        v = e.extend(e.b.getI64Type(), v);
      Value negative = e.compare(arith::CmpIPredicate::slt, v, e.i64(0));
      v = e.select(negative, e.add(v, rows), v);
      v = e.min(e.max(v, 0), rows - 1);
      Index row = e.opaque(v, 0, rows - 1);
      forColumns([&](Index c) {
        IndexVector from = e.delinearize(a, before);
        llvm::append_range(from, i);
        llvm::append_range(from, e.delinearize(c, after));
        Value update = e.operand(op, 0, from);
        e.store(result, address(row, c), scatterCombine(op, e.load(result, address(row, c)), update, e));
      });
      return {};
    });
    return {};
  });
  return outer * blocks;
}
