//===- WgmmaFacts.cpp - tiles of warpgroups -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Feed.h"
#include "passes/Lowering/Schedule/Mainloop.h"
#include "passes/Lowering/Schedule/SharedBytes.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mpc;
using namespace mpc::hero;

// The numbers are m, n, k; the rows and columns of a warpgroup; stages; efficiency; registers of the producer
// and of a consumer; blocks. A multiprocessor has 64 Ki registers: with two consumers, producer + 2 consumers
// is at most 504. A row of 64 k has 128 bytes, the widest swizzle.
static constexpr Tile halfTiles[] = {
    {Mainloop::Wgmma, 128, 256, 64, 64, 256, 4, 0.8, 104, 200, 1},
    {Mainloop::Wgmma, 256, 128, 64, 128, 128, 4, 0.8, 120, 192, 1},
    {Mainloop::Wgmma, 128, 128, 64, 128, 128, 6, 0.78, 104, 200, 1, /*pingPong=*/true},
    {Mainloop::Wgmma, 64, 256, 64, 64, 256, 4, 0.76, 104, 200, 1, /*pingPong=*/true},
    {Mainloop::Wgmma, 128, 192, 64, 64, 192, 4, 0.76, 136, 184, 1},
    {Mainloop::Wgmma, 128, 128, 64, 64, 128, 6, 0.7, 0, 0, 1},
    {Mainloop::Wgmma, 64, 256, 64, 64, 256, 5, 0.62, 0, 0, 1},
    {Mainloop::Wgmma, 128, 64, 64, 64, 64, 7, 0.55, 0, 0, 1},
    {Mainloop::Wgmma, 64, 128, 64, 64, 128, 4, 0.55, 0, 0, 2},
    {Mainloop::Wgmma, 64, 64, 64, 64, 64, 6, 0.45, 0, 0, 2},
};

// The same for 8-bit floats, 128 of which have 128 bytes. The sums of a stage and those of all stages both
// take registers, so a warpgroup with 128 rows sums a stage 64 rows at a time. The tensor memory accelerator
// fetches both operands, so the producer needs few registers.
static constexpr Tile float8Tiles[] = {
    {Mainloop::Wgmma, 256, 128, 128, 128, 128, 4, 0.7, 40, 232, 1},
    {Mainloop::Wgmma, 128, 128, 128, 128, 128, 6, 0.68, 40, 232, 1, /*pingPong=*/true},
    {Mainloop::Wgmma, 128, 128, 128, 64, 128, 6, 0.62, 0, 0, 1},
    {Mainloop::Wgmma, 64, 128, 128, 64, 128, 4, 0.5, 0, 0, 1},
    {Mainloop::Wgmma, 128, 64, 128, 64, 64, 7, 0.5, 0, 0, 1},
    {Mainloop::Wgmma, 64, 64, 128, 64, 64, 6, 0.4, 0, 0, 2},
};

static double multiplyAdds(const Problem &problem, const GpuArch &arch) {
  if (!arch.hasWgmma)
    return 0;
  if (problem.hasFloat8())
    return arch.hasFloat8Products ? 2 * arch.mmaPerClock : 0;
  return problem.factor().isF16() || problem.factor().isBF16() ? arch.mmaPerClock : 0;
}

static llvm::SmallVector<Tile> tiles(const Problem &problem, const GpuArch &) {
  if (problem.k() == 0)
    return {};
  llvm::ArrayRef<Tile> candidates = problem.hasFloat8() ? llvm::ArrayRef(float8Tiles) : llvm::ArrayRef(halfTiles);
  return llvm::filter_to_vector<10>(candidates, [&](const Tile &tile) { return feedsWgmma(problem, tile); });
}

static int64_t sharedBytes(const Problem &, const Tile &tile) { return wgmmaSharedBytes(tile); }

const MainloopFacts mpc::hero::wgmmaFacts = {.partThreads = 128,
                                             .producerThreads = 128,
                                             .persistent = true,
                                             .waitsForCopies = true,
                                             .fallback = false,
                                             .multiplyAdds = multiplyAdds,
                                             .tiles = tiles,
                                             .sharedBytes = sharedBytes,
                                             .clusterAxes = clusterAxesOf};
