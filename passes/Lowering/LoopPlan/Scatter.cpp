//===- Scatter.cpp - graph.gather_grad on hosts -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPUs have a kernel of their own (KernelToGpu/GatherGrad.cpp). On hosts:
//
//   for (a, block of b) in grid:
//     for v: dx[a, v, block] = 0
//     for i: dx[a, indices[i], block] += dy[a, i, block]
//
// One thread owns every address that it adds to, and adds in the order of i, so the result is deterministic.
// Since it adds in memory, only f32 and f64 are possible; mpc-decompose widens other types.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"

using namespace mlir;
using namespace mpc;

using Values = llvm::SmallVector<Value>;

int64_t mpc::emitScatter(kernel::DispatchOp dispatch, const Buffer &result, ElementEmitter &e, Value begin, Value end) {
  auto op = cast<graph::GatherGradOp>(dispatch.yielded()[0].getDefiningOp());
  ArrayRef<int64_t> dx = graph::shapeOf(op.getDx()), indices = graph::shapeOf(op.getIndices());
  size_t axis = op.getAxis();
  ArrayRef<int64_t> before = dx.take_front(axis), after = dx.drop_front(axis + 1);
  int64_t outer = llvm::product_of(before), inner = llvm::product_of(after), rows = dx[axis],
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
    Value zero = e.constant(ElementEmitter::registerType(graph::elementOf(op.getDx())), 0);
    e.loop(rows, {}, [&](Value v, ValueRange) -> Values {
      Index row = e.opaque(v, 0, rows - 1);
      forColumns([&](Index c) { e.store(result, address(row, c), zero); });
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
        IndexVector y = e.delinearize(a, before);
        llvm::append_range(y, i);
        llvm::append_range(y, e.delinearize(c, after));
        Value term = e.operand(op, 0, y);
        e.store(result, address(row, c), e.add(e.load(result, address(row, c)), term));
      });
      return {};
    });
    return {};
  });
  return outer * blocks;
}
