//===- Wgmma.h - sums of products by warpgroups -------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_WGMMA_H
#define MPC_LOWERING_HEROTOGPU_WGMMA_H
#include "passes/Lowering/HeroToGpu/Raster.h"
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// What becomes of the sums of one piece of work.
struct WgmmaOutput {
  /// The sink of a piece; sums come drainNeighbours at once.
  llvm::function_ref<std::unique_ptr<Sink>(const BlockPlace &)> sink;
  /// The same for sums that come in pairs, where they are no partial ones.
  llvm::function_ref<Epilogue(const BlockPlace &)> pairs;
  /// The kernel's parameters that hold the results; none where sums are partial.
  llvm::SmallVector<mlir::BlockArgument> results;
};

/// Emits a kernel whose blocks go on from piece to piece of the raster, every grid_size-th of them (its
/// clusters, where there are any); f16, bf16 or 8-bit floats, operands that `feedsWgmma`, at least one k. `a`
/// and `b` are parameters of the kernel. Returns the tensor maps that the kernel needs.
llvm::SmallVector<kernel::TensorMapAttr> emitWgmma(Code c, const Problem &problem, const Schedule &schedule,
                                                   const Raster &raster, mlir::BlockArgument a,
                                                   mlir::BlockArgument b, const WgmmaOutput &output);

/// Whether the producer can bring the operands' tiles: by tensor map, or in pieces of at least 8 bytes, so
/// few of each thread that their addresses fit its registers. 8-bit floats: whether both are contiguous along
/// k, in which order only wgmma reads them, and come by tensor map.
bool feedsWgmma(const Problem &problem, const Tile &tile);
/// The axes along which the blocks of a cluster of two can be neighbours: each can load a half of the operand
/// that they then have in common. The one with the larger operand first.
llvm::SmallVector<Axis, 2> clusterAxesOf(const Problem &problem, const Tile &tile);
/// Bytes of shared memory of a block.
int64_t wgmmaSharedBytes(const Tile &tile);

} // namespace mpc::hero
#endif
