//===- ThreadEmitter.h - where a thread is --------------------------------------------===//
#ifndef MPC_LOWERING_KERNELTOGPU_THREADEMITTER_H
#define MPC_LOWERING_KERNELTOGPU_THREADEMITTER_H
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"

namespace mpc {

/// The position of a thread: numbers in i32, none of them negative.
struct ThreadEmitter {
  ElementEmitter &e;

  /// The thread's number in its block, and the block's number.
  mlir::Value thread() const { return kernel::ThreadIdOp::create(e.b, e.b.getI32Type()); }
  mlir::Value block() const { return kernel::BlockIdOp::create(e.b, e.b.getI32Type(), kernel::Axis::X); }
  mlir::Value div(mlir::Value x, int64_t y) const { return e.div(x, y, /*isUnsigned=*/true); }
  mlir::Value rem(mlir::Value x, int64_t y) const { return e.rem(x, y, /*isUnsigned=*/true); }
  /// Returns the number in i64, as indices are.
  mlir::Value wide(mlir::Value x) const { return e.zeroExtend(e.b.getI64Type(), x); }
  /// for (i = first; i < count; i += step) carried = body(i, carried); returns the last values.
  ScalarBuilder::Values loop(mlir::Value first, int64_t count, int64_t step, mlir::ValueRange init,
                             ScalarBuilder::LoopBody body) const {
    mlir::Value by = e.i32(step), end = e.i32(count);
    return e.loop(first, end, init, body, by);
  }
};

} // namespace mpc
#endif
