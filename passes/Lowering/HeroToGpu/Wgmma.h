//===- Wgmma.h - sums of products by warpgroups -------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_WGMMA_H
#define MPC_LOWERING_HEROTOGPU_WGMMA_H
#include "passes/Lowering/HeroToGpu/Raster.h"
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// Where the sums of one work item (Raster.h) go.
struct WgmmaOutput {
  /// Makes the sink of a work item; it gets drainNeighbours sums at once.
  llvm::function_ref<std::unique_ptr<Sink>(const BlockPlace &)> sink;
  /// Makes the epilogue of a work item whose sums come in pairs; used where they are not partial sums.
  llvm::function_ref<Epilogue(const BlockPlace &)> pairs;
  /// The kernel's parameters that hold the results; empty where sums are partial.
  llvm::SmallVector<mlir::BlockArgument> results;
};

/// Emits a persistent kernel: a block (or cluster) computes every grid_size-th work item of the raster,
/// counted in clusters where there are any. The problem has f16, bf16 or 8-bit floats, operands for which
/// `feedsWgmma` holds, and at least one k. `a` and `b` are parameters of the kernel. Returns the tensor maps
/// that the kernel needs.
llvm::SmallVector<kernel::TensorMapAttr> emitWgmma(Code c, const Problem &problem, const Schedule &schedule,
                                                   const Raster &raster, mlir::BlockArgument a,
                                                   mlir::BlockArgument b, const WgmmaOutput &output);

/// Whether the producer can bring the operands' tiles into shared memory: by tensor map, or by copies of at
/// least 8 bytes, so few for each thread that their addresses fit its registers. For 8-bit floats: whether
/// both operands are contiguous along k, the only order in which wgmma reads them, and come by tensor map.
bool feedsWgmma(const Problem &problem, const Tile &tile);
/// The axes along which the two blocks of a cluster can be neighbours: each block can then load a half of the
/// operand that they share. The axis that shares the larger operand comes first.
llvm::SmallVector<Axis, 2> clusterAxesOf(const Problem &problem, const Tile &tile);
/// The shared memory of a block, in bytes.
int64_t wgmmaSharedBytes(const Tile &tile);

} // namespace mpc::hero
#endif
