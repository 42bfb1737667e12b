//===- ThreadReducer.cpp - reductions across the threads of a block -------------===//
#include "passes/Lowering/KernelToGpu/ThreadReducer.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mpc;

/// The value of the lane whose number differs by xor with `offset`; a shuffle moves 32 bits.
Value ThreadReducer::exchange(Value v, int64_t offset) {
  Type type = v.getType(), i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  if (type.isF32() || type == i32)
    return kernel::ShuffleOp::create(e.b, type, kernel::ShuffleMode::Xor, v, e.constantInt(i32, offset));
  if (type.isF64())
    return arith::BitcastOp::create(e.b, type, exchange(arith::BitcastOp::create(e.b, i64, v), offset));
  if (type == i64) {
    Value bits = e.constantInt(i64, 32);
    Value low = exchange(arith::TruncIOp::create(e.b, i32, v), offset);
    Value high = exchange(arith::TruncIOp::create(e.b, i32, arith::ShRUIOp::create(e.b, v, bits)), offset);
    high = arith::ShLIOp::create(e.b, arith::ExtUIOp::create(e.b, i64, high), bits);
    return arith::OrIOp::create(e.b, high, arith::ExtUIOp::create(e.b, i64, low));
  }
  return arith::TruncIOp::create(e.b, type, exchange(arith::ExtUIOp::create(e.b, i32, v), offset));
}

Value ThreadReducer::overWarp(Operation *reduction, Value accumulator) {
  for (int64_t offset = warpThreads / 2; offset >= columns; offset /= 2)
    accumulator = reductionCombine(reduction, accumulator, exchange(accumulator, offset), e);
  return accumulator;
}

ThreadReducer::ThreadReducer(ElementEmitter &e, ArrayRef<Operation *> stage, ArrayRef<Values> accumulators,
                             Value thread, int64_t threads, int64_t columns)
    : e(e), stage(stage), warps(threads / warpThreads), columns(columns), n(accumulators.size()) {
  Type i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  for (const Values &of : accumulators) {
    Values &sums = ofWarp.emplace_back();
    for (auto [op, accumulator] : llvm::zip_equal(stage, of))
      sums.push_back(overWarp(op, accumulator));
  }
  if (warps == 1)
    return;
  auto bits = [&](Value v, int64_t mask) -> Value { return arith::AndIOp::create(e.b, v, e.constantInt(i32, mask)); };
  Value lane = bits(thread, warpThreads - 1), warp = arith::ShRUIOp::create(e.b, thread, e.constantInt(i32, 5));
  column = arith::ExtUIOp::create(e.b, i64, bits(thread, columns - 1));
  for (Operation *op : stage) {
    Type type = accumulatorType(op);
    int64_t count = warps * columns * n, bytes = ElementEmitter::storageType(type).getIntOrFloatBitWidth() / 8;
    Value memory = kernel::SharedOp::create(e.b, LLVM::LLVMPointerType::get(e.b.getContext(), 3), count * bytes);
    partial.push_back({memory, RankedTensorType::get({count}, type), {}, {}});
  }
  Value first = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ult, lane, e.constantInt(i32, columns));
  e.when(first, [&] {
    Index at = e.opaque(arith::ExtUIOp::create(e.b, i64, warp), 0, warps - 1) * (columns * n) +
               e.opaque(column, 0, columns - 1) * n;
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
