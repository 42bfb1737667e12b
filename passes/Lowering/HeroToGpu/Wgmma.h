//===- Wgmma.h - sums of products by warpgroups -------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_WGMMA_H
#define MPC_LOWERING_HEROTOGPU_WGMMA_H
#include "passes/Lowering/HeroToGpu/Gather.h"
#include "passes/Lowering/HeroToGpu/Schedule.h"
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// Emits the share of one thread in a block's tile of C, for the tiles of k that `place` says, at least one;
/// f16 or bf16, operands that `feedsWgmma`. The sink gets drainNeighbours sums at once. `a` and `b` are
/// parameters of the kernel. Returns the tensor maps that the kernel needs.
llvm::SmallVector<kernel::TensorMapAttr> emitWgmma(Code c, const Problem &problem, const Tile &tile,
                                                   mlir::BlockArgument a, mlir::BlockArgument b,
                                                   const BlockPlace &place, Sink &sink);

/// Whether the operand's neighbours in memory make whole chunks of 16 bytes.
bool feedsWgmma(const Operand &operand);
/// Bytes of shared memory of a block.
int64_t wgmmaSharedBytes(const Tile &tile);

} // namespace mpc::hero
#endif
