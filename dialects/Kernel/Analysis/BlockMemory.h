//===- BlockMemory.h - what the blocks of loop dispatches keep in shared memory --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, the choice of loops and emission ask these functions, so that no block takes other memory than was
// verified.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_KERNEL_ANALYSIS_BLOCKMEMORY_H
#define MPC_KERNEL_ANALYSIS_BLOCKMEMORY_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// Returns the type of the running result of a reduction: that of the arithmetic on its elements, where integers are
/// signless, a boolean is a byte, because bytes vectorise, and a mean of integers has 64 bits, because its sum must not
/// wrap.
mlir::Type accumulatorType(mlir::Operation *reduction);

/// Returns the type of a block's square tile of a result, whose rows lie tilePitch(side) elements apart.
mlir::RankedTensorType tileOf(mlir::Value result, int64_t side);

/// Returns the type of what the warps of a block exchange for a reduction: [warp, column, neighbour], one dimension
/// for all. It has no elements where the block is one warp. `columns` threads, a row of the block, have `vector`
/// columns each.
mlir::RankedTensorType exchangedSums(mlir::Operation *reduction, int64_t threads, int64_t columns, int64_t vector);

/// Returns the bytes in which a block has a tile of each result.
int64_t tileBytes(DispatchOp dispatch, int64_t side);
/// Returns the bytes in which the warps of a block exchange what all reductions need.
int64_t exchangedBytes(DispatchOp dispatch, int64_t threads, int64_t columns, int64_t vector);
/// Returns the bytes that a block of a GPU takes for a dispatch with these loops, which fit it (LoopsFit.h).
int64_t sharedBytes(DispatchOp dispatch, LoopsAttr loops);

} // namespace mpc::kernel
#endif
