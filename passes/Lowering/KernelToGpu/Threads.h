//===- Threads.h - the numbers of threads, and what they share ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_KERNELTOGPU_THREADS_H
#define MPC_LOWERING_KERNELTOGPU_THREADS_H
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"

namespace mpc {

// Threads count in i32, and none of their numbers is negative.

/// Returns the thread's number in its block.
inline mlir::Value threadId(ElementEmitter &e) { return kernel::ThreadIdOp::create(e.b, e.b.getI32Type()); }
/// Returns the block's number.
inline mlir::Value blockId(ElementEmitter &e) {
  return kernel::BlockIdOp::create(e.b, e.b.getI32Type(), kernel::Axis::X);
}

/// Returns x / y and x % y.
inline mlir::Value quotient(ElementEmitter &e, mlir::Value x, int64_t y) { return e.div(x, y, /*isUnsigned=*/true); }
inline mlir::Value remainder(ElementEmitter &e, mlir::Value x, int64_t y) { return e.rem(x, y, /*isUnsigned=*/true); }

/// Returns the number in i64, as indices are.
inline mlir::Value toI64(ElementEmitter &e, mlir::Value x) { return e.zeroExtend(e.b.getI64Type(), x); }

/// for (i = first; i < count; i += step) carried = body(i, carried); returns the last values. No step is larger than a
/// block, so kernel::verifyCountable sees to it that i + step stays below 2^31: the loop compares with the sign.
/// `unrolled` iterations stand side by side.
inline ScalarBuilder::Values threadLoop(ElementEmitter &e, mlir::Value first, int64_t count, int64_t step,
                                        mlir::ValueRange init, ScalarBuilder::LoopBody body, int64_t unrolled = 1) {
  mlir::Value by = e.i32(step), end = e.i32(count);
  return e.unrolledLoop(unrolled, first, end, init, body, by);
}

/// Creates memory that the threads of a block share.
inline Buffer sharedBuffer(ElementEmitter &e, mlir::RankedTensorType type) {
  auto pointer = mlir::LLVM::LLVMPointerType::get(e.b.getContext(), 3);
  return {kernel::SharedOp::create(e.b, pointer, graph::bytesOf(type)), type, {}, {}};
}

} // namespace mpc
#endif
