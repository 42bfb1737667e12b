//===- Drain.h - sums out of fragments ---------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_DRAIN_H
#define MPC_LOWERING_HEROTOGPU_DRAIN_H
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// Sums that `drainWarp` puts at once.
inline constexpr int drainNeighbours = 8;

/// Shared memory that a warp drains through, of `columns` columns.
int64_t drainBytes(int columns);

/// Puts the sums of a warp, [bands of 16 rows, columns / 8, 4], into the sink. They leave through `slab`,
/// this warp's shared memory, 16 rows of 64 columns at a time: fragments hold pairs of neighbours, results
/// are stored in 16 bytes. `firstRow`: of a band; `firstColumn`, `lane`: i32. What the slab held is lost.
void drainWarp(Code c, mlir::Value slab, mlir::Value lane, int columns, llvm::ArrayRef<mlir::Value> sums,
               llvm::function_ref<mlir::Value(int)> firstRow, mlir::Value firstColumn, Sink &sink);

} // namespace mpc::hero
#endif
