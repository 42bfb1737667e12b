//===- SimtFacts.cpp - tiles of multiply-adds ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Mainloop.h"
#include "passes/Lowering/Schedule/SharedBytes.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mpc;
using namespace mpc::hero;

// The numbers are m, n, k; the rows and columns of a thread; stages; efficiency. Shared memory is read in 128-bit
// loads: in the largest tile, 16 elements feed 64 multiply-adds, in the smallest one 8 elements feed 16.
static constexpr Tile simtTiles[] = {
    {Mainloop::Simt, 128, 128, 8, 8, 8, 2, 0.85}, {Mainloop::Simt, 128, 64, 8, 8, 8, 2, 0.75},
    {Mainloop::Simt, 64, 64, 16, 8, 4, 2, 0.65},  {Mainloop::Simt, 128, 32, 16, 8, 4, 2, 0.55},
    {Mainloop::Simt, 32, 32, 16, 4, 4, 2, 0.4},   {Mainloop::Simt, 128, 8, 16, 4, 4, 2, 0.3},
};

static double multiplyAdds(const Problem &problem, const GpuArch &arch) {
  if (problem.hasFloat8())
    return 0;
  // The f64 rate is that of GPUs for graphics; the choice of a tile depends on it little.
  return problem.accumulator().isF64() ? 2 : arch.fmaPerClock;
}

static llvm::SmallVector<Tile> tiles(const Problem &problem, const GpuArch &) {
  bool wide = problem.accumulator().isF64();
  return llvm::filter_to_vector<6>(simtTiles, [&](const Tile &tile) {
    return !wide || tile.partM * tile.partN <= 32; // f64 takes two registers for each sum
  });
}

const MainloopFacts mpc::hero::simtFacts = {.partThreads = 1,
                                            .producerThreads = 0,
                                            .persistent = false,
                                            .waitsForCopies = false,
                                            .fallback = true,
                                            .multiplyAdds = multiplyAdds,
                                            .tiles = tiles,
                                            .sharedBytes = simtSharedBytes};
