//===- LoopsFit.h - whether #kernel.loops fits a dispatch and its target ---------===//
#ifndef MPC_KERNEL_ANALYSIS_LOOPSFIT_H
#define MPC_KERNEL_ANALYSIS_LOOPSFIT_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// Verifies the `loops` of a dispatch, if it has any, whose form is right: against its form, the dimensions of its
/// space and what emission can make of a walk on the target (null for the host). Those of a contraction are verified
/// against the loops behind the host library's call. Emitters rely on this and check nothing again. Fails with a
/// located error.
llvm::LogicalResult verifyLoops(DispatchOp dispatch, const GpuArch *gpu);

/// Returns how many elements lie between the rows of a GPU's square tile in shared memory: with one more element than
/// the tile's side, walking it in either direction never meets a bank twice, whatever the size of elements.
constexpr int64_t tilePitch(int64_t side) { return side + 1; }
/// Returns the bytes of shared memory in which a block has a tile of each result. The tiles are squares.
int64_t tileBytes(DispatchOp dispatch, int64_t side);
/// Returns the bytes of shared memory in which the warps of a block exchange the sums of columns. A row of its threads
/// has `columns` threads with `vector` neighbouring columns each.
int64_t columnSumBytes(DispatchOp dispatch, int64_t threads, int64_t columns, int64_t vector);

} // namespace mpc::kernel
#endif
