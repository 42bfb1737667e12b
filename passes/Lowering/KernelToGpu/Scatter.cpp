//===- Scatter.cpp - graph.scatter on a GPU -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   y[a, v, c] = updates[a, i, c], combined over the i with indices[i] = v, in the order of i
//
// A block owns some rows v, and a thread one column (a, c) of them, whose results it keeps in shared memory. No other
// thread touches these results, so the order is fixed. The threads of a block look at the indices together, a chunk at
// a time:
//
//   each thread finds which of its indices are of the block's rows, and sums over threads say where its hits stand
//   the hits of the chunk are written to shared memory, in the order of i
//   each thread with a column combines their updates, of which it loads several before it combines the first
//
// Every block reads all indices. Rows are therefore divided among so few blocks as fill a GPU.
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

namespace {
constexpr int64_t threads = blockThreads, warps = threads / warpThreads;
constexpr int64_t ownIndices = 4;               ///< the neighbouring indices of a thread in a chunk
constexpr int64_t chunk = threads * ownIndices; ///< the indices that the block looks at together
constexpr int64_t ownUpdates = 8;               ///< the updates that a thread loads before it combines the first
constexpr int64_t rowBits = 16;                 ///< a hit is its place in the chunk and, in this many bits, its row

class GpuScatter {
public:
  GpuScatter(graph::ScatterOp op, const Buffer &result, ElementEmitter &e);
  Blocks emit();

private:
  void divide();
  /// Returns the row of the block that an index of the chunk names; what is not below `blockRows` is none.
  Value rowOf(Value number);
  /// Writes the chunk's hits to shared memory; returns their number. A barrier stands behind it.
  Value collect(Value low);
  /// Returns the sum of `count` over the threads before this one, and that over all. A barrier stands in between.
  std::pair<Value, Value> sumsOf(Value count);
  /// Combines the updates of the chunk that starts at index `low`, in the order of their hits.
  void combine(Value low, Value hits);
  /// Stores the block's results.
  void store();
  /// Returns where the thread keeps its result of a row.
  Index place(Value row) { return e.opaque(toI64(e, row), 0, blockRows - 1) * blockColumns + mine; }
  void wait() { kernel::BarrierOp::create(e.b, /*id=*/0, /*threads=*/IntegerAttr()); }

  graph::ScatterOp op;
  const Buffer &result;
  ElementEmitter &e;
  ArrayRef<int64_t> before, after, indices;
  int64_t inner, rows, count, columns, blockColumns, columnBlocks, blockRows, rowBlocks;
  Type i32, i64, element, type;
  Value tid, first, inside; ///< the thread, the block's first row, and whether the thread has a column (null: all have)
  Index a, c, mine;         ///< the thread's column, and its place in the block
  Buffer results, hitList, warpSums;
};
} // namespace

GpuScatter::GpuScatter(graph::ScatterOp op, const Buffer &result, ElementEmitter &e) : op(op), result(result), e(e) {
  ArrayRef<int64_t> y = graph::shapeOf(op.getY());
  size_t axis = op.getAxis();
  indices = graph::shapeOf(op.getIndices());
  before = y.take_front(axis), after = y.drop_front(axis + 1);
  inner = llvm::product_of(after), rows = y[axis], count = llvm::product_of(indices);
  columns = llvm::product_of(before) * inner;
  i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  element = graph::elementOf(op.getY()), type = ElementEmitter::registerType(element);
  divide();
}

/// Divides columns among threads, and rows among blocks as far as these fill a GPU and their results fit.
void GpuScatter::divide() {
  blockColumns = std::min(columns, threads);
  columnBlocks = llvm::divideCeilSigned(columns, threads);
  int64_t rowBytes = std::max<int64_t>(1, blockColumns * type.getIntOrFloatBitWidth() / 8);
  int64_t most = std::min(gpuBlocks.scatterBytes / rowBytes, (int64_t(1) << rowBits) - 1);
  blockRows = std::clamp<int64_t>(rows * columnBlocks / gpuBlocks.scatterBlocks, 1, std::min(most, rows));
  rowBlocks = llvm::divideCeilSigned(rows, blockRows);
}

Value GpuScatter::rowOf(Value number) {
  Value known;
  if (count % chunk != 0) {
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
  return e.select(here, e.truncate(i32, row), e.i32(blockRows));
}

std::pair<Value, Value> GpuScatter::sumsOf(Value count) {
  Value lane = remainder(e, tid, warpThreads), warp = quotient(e, tid, warpThreads), sum = count;
  for (int64_t offset = 1; offset < warpThreads; offset *= 2) {
    Value other = kernel::ShuffleOp::create(e.b, i32, kernel::ShuffleMode::Up, sum, e.i32(offset));
    sum = e.select(e.below(lane, offset), sum, e.add(sum, other));
  }
  e.when(e.equal(lane, warpThreads - 1), [&] { e.store(warpSums, e.opaque(toI64(e, warp), 0, warps - 1), sum); });
  wait();
  Value total = e.i32(0), earlier = e.sub(sum, count);
  for (int64_t w = 0; w < warps; ++w) {
    Value ofWarp = e.load(warpSums, Index(w));
    total = e.add(total, ofWarp);
    earlier = e.select(e.below(warp, w + 1), earlier, e.add(earlier, ofWarp));
  }
  return {earlier, total};
}

Value GpuScatter::collect(Value low) {
  Value own = e.mul(tid, ownIndices), count = e.i32(0);
  Values found;
  for (int64_t i = 0; i < ownIndices; ++i)
    found.push_back(rowOf(e.add(e.add(low, own), i)));
  for (Value row : found)
    count = e.add(count, e.zeroExtend(i32, e.below(row, blockRows)));
  auto [at, hits] = sumsOf(count);
  for (auto [i, row] : llvm::enumerate(found)) {
    Value isHit = e.below(row, blockRows);
    e.when(isHit, [&, at = at, i = i, row = row] {
      Value hit = e.add(e.shiftLeft(e.add(own, int64_t(i)), rowBits), row);
      e.store(hitList, e.opaque(toI64(e, at), 0, chunk - 1), hit);
    });
    at = e.add(at, e.zeroExtend(i32, isHit));
  }
  wait();
  return hits;
}

void GpuScatter::combine(Value low, Value hits) {
  auto group = [&](Value from, ValueRange) -> Values {
    Value last = e.sub(hits, 1);
    Values rowsOf, updates;
    for (int64_t i = 0; i < ownUpdates; ++i) {
      Value hit = e.load(hitList, e.opaque(toI64(e, e.min(e.add(from, i), last)), 0, chunk - 1));
      Value number = e.add(low, e.shiftRight(hit, rowBits));
      IndexVector at = e.delinearize(a, before);
      llvm::append_range(at, e.delinearize(e.opaque(toI64(e, number), 0, count - 1), indices));
      llvm::append_range(at, e.delinearize(c, after));
      updates.push_back(e.operand(op, 0, at));
      rowsOf.push_back(e.bitAnd(hit, (int64_t(1) << rowBits) - 1));
    }
    for (int64_t i = 0; i < ownUpdates; ++i) {
      Value another = i == 0 ? Value() : e.compare(arith::CmpIPredicate::sle, e.add(from, i), last);
      e.when(another, [&] {
        Index at = place(rowsOf[i]);
        e.store(results, at, scatterCombine(op, e.load(results, at), updates[i], e));
      });
    }
    return {};
  };
  e.when(inside, [&] { e.loop(e.i32(0), hits, {}, group, e.i32(ownUpdates)); });
}

void GpuScatter::store() {
  e.when(inside, [&] {
    threadLoop(e, e.i32(0), blockRows, 1, {}, [&](Value row, ValueRange) -> Values {
      Value v = e.add(first, toI64(e, row));
      e.when(rows % blockRows == 0 ? Value() : e.below(v, rows), [&] {
        Index to = (a * rows + e.opaque(v, 0, rows - 1)) * inner + c;
        Value sum = e.load(results, place(row));
        e.store(result, to, isa<FloatType>(element) ? e.round(sum, element) : sum);
      });
      return {};
    });
  });
}

Blocks GpuScatter::emit() {
  tid = threadId(e);
  Value block = blockId(e), column = tid, own = tid;
  if (columns < threads)
    own = column = e.min(tid, columns - 1, /*isUnsigned=*/true);
  else
    column = e.add(e.mul(remainder(e, block, columnBlocks), threads), tid);
  if (columns % threads != 0) { // threads without a column look at indices, too
    inside = columns < threads ? e.below(tid, columns) : e.below(column, columns);
    column = e.min(column, columns - 1, /*isUnsigned=*/true);
  }
  first = toI64(e, e.mul(quotient(e, block, columnBlocks), blockRows));
  Index at = e.opaque(toI64(e, column), 0, columns - 1);
  a = e.floorDiv(at, inner), c = e.mod(at, inner);
  mine = e.opaque(toI64(e, own), 0, blockColumns - 1);
  results = sharedBuffer(e, RankedTensorType::get({blockRows * blockColumns}, type));
  hitList = sharedBuffer(e, RankedTensorType::get({chunk}, i32));
  warpSums = sharedBuffer(e, RankedTensorType::get({warps}, i32));

  threadLoop(e, e.i32(0), blockRows, 1, {}, [&](Value row, ValueRange) -> Values {
    return e.when(inside, [&] { e.store(results, place(row), scatterInit(op, e)); }), Values();
  });
  threadLoop(e, e.i32(0), count, chunk, {}, [&](Value low, ValueRange) -> Values {
    combine(low, collect(low));
    wait(); // the next chunk's hits overwrite these
    return {};
  });
  store();
  return {rowBlocks * columnBlocks, threads};
}

Blocks mpc::emitGpuScatter(kernel::DispatchOp dispatch, const Buffer &result, ElementEmitter &e) {
  auto op = cast<graph::ScatterOp>(dispatch.getBody().front().getTerminator()->getOperand(0).getDefiningOp());
  return GpuScatter(op, result, e).emit();
}
