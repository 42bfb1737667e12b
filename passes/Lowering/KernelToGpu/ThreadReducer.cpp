//===- ThreadReducer.cpp - reductions across threads ---------------------------===//
//
// The order of the additions follows from the shapes alone, so that results do not change from run to run.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Lowering/Elemental/Ops/Models.h"
#include "passes/Lowering/KernelToGpu/GpuNest.h"

using namespace mlir;
using namespace mpc;

bool ThreadReducer::shuffles(Type accumulator) { return accumulator.isF32() || accumulator.isInteger(32); }

/// A partial result is combined like an element, but is an accumulator already.
Value ThreadReducer::combine(Operation *reduction, Value a, Value b) {
  if (isa<graph::ReduceAnyOp>(reduction))
    b = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, b, e.constantInt(b.getType(), 0));
  return reductionStep(reduction, a, b, e);
}

Buffer ThreadReducer::shared(Type element, int64_t count) {
  int64_t bytes = ElementEmitter::storageType(element).getIntOrFloatBitWidth() / 8;
  Value pointer =
      kernel::SharedOp::create(e.b, LLVM::LLVMPointerType::get(e.b.getContext(), 3), count * bytes);
  return {pointer, RankedTensorType::get({count}, element), {}, {}};
}

Value ThreadReducer::overWarp(Operation *reduction, Value accumulator) {
  for (int32_t offset = 16; offset > 0; offset /= 2) {
    Value other = kernel::ShuffleOp::create(e.b, accumulator.getType(), kernel::ShuffleMode::Xor, accumulator,
                                            e.constantInt(e.b.getI32Type(), offset));
    accumulator = combine(reduction, accumulator, other);
  }
  return accumulator;
}

Value ThreadReducer::overBlock(Operation *reduction, Value accumulator, Value thread, int64_t threads) {
  Type type = accumulator.getType();
  int64_t pieces = threads;
  Value slot = thread;
  if (shuffles(type)) { // one value per warp is left
    accumulator = overWarp(reduction, accumulator);
    pieces = threads / 32;
    slot = arith::ShRUIOp::create(e.b, thread, e.i64(5));
  }
  if (pieces == 1)
    return accumulator;
  Buffer partial = shared(type, pieces);
  Value first = arith::AndIOp::create(e.b, thread, e.i64(31));
  Value stores = pieces == threads
                     ? Value()
                     : Value(arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, first, e.i64(0)));
  e.when(stores, [&] { e.store(partial, e.opaque(slot, 0, pieces - 1), accumulator); });
  kernel::BarrierOp::create(e.b, /*id=*/0, /*threads=*/IntegerAttr());
  Value total = e.load(partial, Index(0));
  if (pieces <= 32) {
    for (int64_t i = 1; i < pieces; ++i)
      total = combine(reduction, total, e.load(partial, Index(i)));
    return total;
  }
  return e.loop(e.i64(1), e.i64(pieces), total, [&](Value i, ValueRange carried) -> llvm::SmallVector<Value> {
    return {combine(reduction, carried[0], e.load(partial, e.opaque(i, 0, pieces - 1)))};
  })[0];
}

Value ThreadReducer::overGroups(Operation *reduction, Value accumulator, Value thread, int64_t columns,
                                int64_t groups) {
  if (groups == 1)
    return accumulator;
  Buffer partial = shared(accumulator.getType(), columns * groups);
  e.store(partial, e.opaque(thread, 0, columns * groups - 1), accumulator);
  kernel::BarrierOp::create(e.b, /*id=*/0, /*threads=*/IntegerAttr());
  Index column = e.opaque(arith::RemUIOp::create(e.b, thread, e.i64(columns)), 0, columns - 1);
  Value total = e.load(partial, column);
  for (int64_t g = 1; g < groups; ++g)
    total = combine(reduction, total, e.load(partial, column + Index(g * columns)));
  return total;
}
