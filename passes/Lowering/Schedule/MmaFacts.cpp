//===- MmaFacts.cpp - tiles of the tensor cores ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Feed.h"
#include "passes/Lowering/Schedule/Mainloop.h"
#include "passes/Lowering/Schedule/SharedBytes.h"

using namespace mpc;
using namespace mpc::hero;

// The numbers are m, n, k; the rows and columns of a warp; stages; efficiency. Efficiencies are estimates:
// the share of load_matrix and of addresses falls as the warp's tile grows. Copies are asynchronous
// (copy_async, sm_80 on), and rings 3 or 4 tiles deep.
static constexpr Tile ringTiles[] = {
    {Mainloop::Mma, 128, 256, 32, 64, 64, 3, 0.9}, {Mainloop::Mma, 128, 128, 32, 64, 64, 4, 0.85},
    {Mainloop::Mma, 128, 64, 32, 64, 32, 4, 0.75}, {Mainloop::Mma, 64, 64, 32, 32, 32, 4, 0.6},
    {Mainloop::Mma, 128, 32, 32, 32, 32, 4, 0.55}, {Mainloop::Mma, 32, 32, 32, 16, 16, 4, 0.3},
};
// Tiles that pass through registers: the ring has two of them, and warps have fewer sums, so that both fit.
static constexpr Tile stagedTiles[] = {
    {Mainloop::Mma, 128, 128, 32, 64, 32, 2, 0.7}, {Mainloop::Mma, 128, 64, 32, 32, 32, 2, 0.6},
    {Mainloop::Mma, 64, 64, 32, 32, 32, 2, 0.5},   {Mainloop::Mma, 128, 32, 32, 32, 32, 2, 0.45},
    {Mainloop::Mma, 32, 32, 32, 16, 16, 2, 0.25},
};

static double multiplyAdds(const Problem &problem, const GpuArch &arch) {
  bool multiplies = problem.factor().isF16() ? arch.hasMmaF16K8 : problem.factor().isBF16() && arch.hasMmaK16;
  return multiplies ? arch.mmaPerClock * arch.mmaShare : 0;
}

static llvm::SmallVector<Tile> tiles(const Problem &problem, const GpuArch &arch) {
  bool ring = copiesAsync(problem.a, arch) && copiesAsync(problem.b, arch);
  return llvm::to_vector(ring ? llvm::ArrayRef(ringTiles) : llvm::ArrayRef(stagedTiles));
}

static int64_t sharedBytes(const Problem &, const Tile &tile) { return mmaSharedBytes(tile); }

const MainloopFacts mpc::hero::mmaFacts = {.partThreads = 32,
                                           .producerThreads = 0,
                                           .persistent = false,
                                           .waitsForCopies = true,
                                           .fallback = false,
                                           .multiplyAdds = multiplyAdds,
                                           .tiles = tiles,
                                           .sharedBytes = sharedBytes};
