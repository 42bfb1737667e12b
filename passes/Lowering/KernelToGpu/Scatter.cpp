//===- Scatter.cpp - graph.scatter on a GPU -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   y[a, v, c] = updates[a, i, c], combined over the i with indices[i] = v, in the order of i
//
// A block owns up to 64 rows v, and a thread one column (a, c) of them, whose results it keeps in shared memory.
// No other thread touches these results, so no thread waits for another and the order is fixed. Warps look at 32
// indices at a time; an index of another block's row costs a load, a comparison and a vote. Every block reads
// all indices, which takes tens of microseconds for the embeddings of language models; sorting the indices
// would be faster only where there are many more of them.
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "passes/Lowering/KernelToGpu/Threads.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpc;

using Values = llvm::SmallVector<Value>;

Blocks mpc::emitGpuScatter(kernel::DispatchOp dispatch, const Buffer &result, ElementEmitter &e) {
  auto op = cast<graph::ScatterOp>(dispatch.getBody().front().getTerminator()->getOperand(0).getDefiningOp());
  ArrayRef<int64_t> y = graph::shapeOf(op.getY()), indices = graph::shapeOf(op.getIndices());
  size_t axis = op.getAxis();
  ArrayRef<int64_t> before = y.take_front(axis), after = y.drop_front(axis + 1);
  int64_t inner = llvm::product_of(after), rows = y[axis], count = llvm::product_of(indices),
          columns = llvm::product_of(before) * inner;
  Type element = graph::elementOf(op.getY()), type = ElementEmitter::registerType(element);
  int64_t threads = std::clamp((columns + warpThreads - 1) / warpThreads * warpThreads, warpThreads, blockThreads / 2);
  int64_t columnBlocks = (columns + threads - 1) / threads, bytes = type.getIntOrFloatBitWidth() / 8;
  int64_t blockRows =
      std::clamp<int64_t>(rows * columnBlocks / gpuBlocks.scatterBlocks, 1,
                          std::min({gpuBlocks.scatterRows, rows, gpuBlocks.scatterBytes / (threads * bytes)}));
  int64_t rowBlocks = (rows + blockRows - 1) / blockRows;

  Type i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  Value tid = threadId(e), lane = remainder(e, tid, warpThreads), block = blockId(e);
  Value column = e.add(e.mul(remainder(e, block, columnBlocks), threads), tid), inside;
  Value first = toI64(e, e.mul(quotient(e, block, columnBlocks), blockRows));
  if (columns % threads != 0) { // threads without a column stay for the votes
    inside = e.below(column, columns);
    column = e.min(column, columns - 1, /*isUnsigned=*/true);
  }
  Index at = e.opaque(toI64(e, column), 0, columns - 1), a = e.floorDiv(at, inner), c = e.mod(at, inner);
  Buffer results = sharedBuffer(e, RankedTensorType::get({blockRows * threads}, type));
  Index mine = e.opaque(toI64(e, tid), 0, threads - 1);
  auto place = [&](Value row) { return e.opaque(toI64(e, row), 0, blockRows - 1) * threads + mine; };

  threadLoop(e, e.i32(0), blockRows, 1, {}, [&](Value row, ValueRange) -> Values {
    return e.store(results, place(row), scatterInit(op, e)), Values();
  });
  threadLoop(e, e.i32(0), count, warpThreads, {}, [&](Value low, ValueRange) -> Values {
    Value number = e.add(low, lane), known;
    if (count % warpThreads != 0) {
      known = e.below(number, count);
      number = e.min(number, count - 1, /*isUnsigned=*/true);
    }
    Value v = e.operand(op, 1, e.delinearize(e.opaque(toI64(e, number), 0, count - 1), indices));
    if (v.getType() != i64)
      v = e.extend(i64, v);
    Value negative = e.compare(arith::CmpIPredicate::slt, v, e.i64(0));
    v = e.select(negative, e.add(v, rows), v);
    v = e.min(e.max(v, 0), rows - 1);
    Value row = e.sub(v, first);
    Value here = e.both(e.below(row, blockRows), known);
    Value target = e.select(here, e.truncate(i32, row), -1);
    e.when(kernel::VoteOp::create(e.b, e.b.getI1Type(), kernel::VoteMode::Any, here), [&] {
      threadLoop(e, e.i32(0), warpThreads, 1, {}, [&](Value other, ValueRange) -> Values {
        Value row = kernel::ShuffleOp::create(e.b, i32, kernel::ShuffleMode::Index, target, other);
        e.when(e.compare(arith::CmpIPredicate::sge, row, e.i32(0)), [&] {
          IndexVector from = e.delinearize(a, before);
          llvm::append_range(from, e.delinearize(e.opaque(toI64(e, e.add(low, other)), 0, count - 1), indices));
          llvm::append_range(from, e.delinearize(c, after));
          Index at = place(row);
          Value update = e.operand(op, 0, from);
          e.store(results, at, scatterCombine(op, e.load(results, at), update, e));
        });
        return {};
      });
    });
    return {};
  });
  e.when(inside, [&] {
    threadLoop(e, e.i32(0), blockRows, 1, {}, [&](Value row, ValueRange) -> Values {
      Value v = e.add(first, toI64(e, row));
      e.when(rows % blockRows == 0 ? Value() : e.below(v, rows), [&] {
        Index to = (a * rows + e.opaque(v, 0, rows - 1)) * inner + c;
        e.store(result, to,
                isa<FloatType>(element) ? e.round(e.load(results, place(row)), element) : e.load(results, place(row)));
      });
      return {};
    });
  });
  return {rowBlocks * columnBlocks, threads};
}
