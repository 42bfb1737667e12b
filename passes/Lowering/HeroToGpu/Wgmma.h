//===- Wgmma.h - sums of products by warpgroups -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_WGMMA_H
#define MPC_LOWERING_HEROTOGPU_WGMMA_H
#include "passes/Lowering/HeroToGpu/MainKernel.h"

namespace mpc::hero {

/// Emits a persistent kernel: a block (or cluster) computes every grid_size-th work item of the raster, counted in
/// clusters where there are any. The problem has f16, bf16 or 8-bit floats, operands for which `feedsWgmma`
/// (passes/Lowering/Schedule/Feed.h) holds, and at least one k. The sink gets drainNeighbours sums at once.
llvm::SmallVector<kernel::TensorMapAttr> emitWgmma(const MainKernel &main);

} // namespace mpc::hero
#endif
