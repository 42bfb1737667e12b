//===- Drain.h - sums out of fragments ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_DRAIN_H
#define MPC_LOWERING_HEROTOGPU_DRAIN_H
#include "passes/Lowering/HeroToGpu/Sink.h"
#include "passes/Lowering/Schedule/SharedBytes.h"

namespace mpc::hero {

/// The number of sums that `drainWarp` passes to the sink at once.
inline constexpr int drainNeighbours = 8;

/// Passes the sums of a warp, [bands of 16 rows, columns / 8, 4], to the sink. A thread's fragments hold pairs of
/// neighbours, but results are stored in 16 bytes; so the sums go through `slab`, drainBytes(columns) of shared memory
/// of this warp, 16 rows of 64 columns at a time. `firstRow` gives the first row of a band; `firstColumn`, `lane` and
/// `part`, the number of the part that the warp's rows are, are i32. The slab is overwritten.
void drainWarp(Code c, mlir::Value slab, mlir::Value lane, int columns, llvm::ArrayRef<mlir::Value> sums,
               llvm::function_ref<mlir::Value(int)> firstRow, mlir::Value firstColumn, mlir::Value part, Sink &sink);

} // namespace mpc::hero
#endif
