//===- ThreadReducer.cpp - reductions across the threads of a block -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/KernelToGpu/ThreadReducer.h"
#include "dialects/Kernel/Analysis/BlockMemory.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "passes/Lowering/KernelToGpu/Threads.h"

using namespace mlir;
using namespace mpc;

/// The value of the lane whose number differs by xor with `offset`; a shuffle moves 32 bits.
Value ThreadReducer::exchange(Value v, int64_t offset) {
  Type type = v.getType(), i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  if (type.isF32() || type == i32)
    return kernel::ShuffleOp::create(e.b, type, kernel::ShuffleMode::Xor, v, e.i32(offset));
  if (type.isF64())
    return e.bitcast(type, exchange(e.bits(v), offset));
  if (type == i64) {
    Value half = e.i64(32);
    Value low = exchange(e.truncate(i32, v), offset);
    Value high = exchange(e.truncate(i32, e.shiftRight(v, half)), offset);
    high = e.shiftLeft(e.zeroExtend(i64, high), half);
    return e.bitOr(high, e.zeroExtend(i64, low));
  }
  return e.truncate(type, exchange(e.zeroExtend(i32, v), offset));
}

Value ThreadReducer::overWarp(Operation *reduction, Value accumulator) {
  for (int64_t offset = inWarp / 2; offset >= columns; offset /= 2)
    accumulator = reductionCombine(reduction, accumulator, exchange(accumulator, offset), e);
  return accumulator;
}

ThreadReducer::ThreadReducer(ElementEmitter &e, ArrayRef<Operation *> stage, ArrayRef<Values> accumulators,
                             Value thread, int64_t threads, int64_t columns)
    : e(e), stage(stage), inWarp(std::min(threads, warpThreads)), warps(threads / inWarp), columns(columns),
      n(accumulators.size()) {
  Type i64 = e.b.getI64Type();
  for (const Values &of : accumulators) {
    Values &sums = ofWarp.emplace_back();
    for (auto [op, accumulator] : llvm::zip_equal(stage, of))
      sums.push_back(overWarp(op, accumulator));
  }
  if (warps == 1)
    return;
  Value lane = e.bitAnd(thread, warpThreads - 1), warp = e.shiftRight(thread, 5);
  column = e.zeroExtend(i64, e.bitAnd(thread, columns - 1));
  for (Operation *op : stage)
    partial.push_back(sharedBuffer(e, kernel::exchangedSums(op, threads, columns, n)));
  e.when(e.below(lane, columns), [&] {
    Index at = e.opaque(column, 0, columns - 1) * n;
    at = at + e.opaque(e.zeroExtend(i64, warp), 0, warps - 1) * (columns * n);
    for (auto [r, buffer] : llvm::enumerate(partial))
      for (int64_t i = 0; i < n; ++i)
        e.store(buffer, at + Index(i), ofWarp[i][r]);
  });
  kernel::BarrierOp::create(e.b, /*id=*/0, /*threads=*/IntegerAttr());
}

ThreadReducer::Values ThreadReducer::totals(int64_t i) {
  if (warps == 1)
    return ofWarp[i];
  return totals(e.opaque(column, 0, columns - 1), Index(i));
}

ThreadReducer::Values ThreadReducer::totals(const Index &ofColumn, const Index &i) {
  assert(inMemory() && "only the columns' own threads have them");
  Values result;
  Index at = ofColumn * n + i;
  for (auto [op, buffer] : llvm::zip_equal(stage, partial)) {
    Value total = e.load(buffer, at);
    for (int64_t warp = 1; warp < warps; ++warp)
      total = reductionCombine(op, total, e.load(buffer, at + Index(warp * columns * n)), e);
    result.push_back(total);
  }
  return result;
}
