//===- Tile.h - how a block computes its tile of C ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_SCHEDULE_TILE_H
#define MPC_LOWERING_SCHEDULE_TILE_H
#include "dialects/Kernel/IR/Contraction.h"

namespace mpc::hero {

using kernel::Mainloop;
using kernel::nameOf;

/// How a block computes its tile of C.
struct Tile {
  Mainloop mainloop;
  int m, n, k;
  /// The part of the tile that one thread (Simt), warp (Mma) or warpgroup (Wgmma) computes.
  int partM, partN;
  /// The slices of k that shared memory holds: 2 where threads hold the next one in registers, more where
  /// copies are asynchronous.
  int stages;
  /// The share of the arithmetic units' peak rate that this tile reaches in large problems.
  double efficiency;
  /// Wgmma: the registers that a thread of the producer and of a consumer has after setmaxnreg; 0 where every
  /// thread keeps the number that it was launched with.
  int producerRegisters = 0, consumerRegisters = 0;
  /// Blocks that one SM must hold at once; 0 means no requirement.
  int blocks = 0;
  /// Wgmma: two consumer warpgroups compute tiles of their own and take turns: while one stores its sums, the
  /// other has the tensor cores. Without ping-pong the consumers share a tile.
  bool pingPong = false;

  /// The number of threads, warps or warpgroups of a block that compute a part each.
  int workers() const { return pingPong ? 2 : m / partM * (n / partN); }
  /// The threads of a block, with those that only load.
  int threads() const;
  /// The rows that one thread (Simt) or warp sums up for each column, where there are column sums.
  int rowsPerPart() const;
};

} // namespace mpc::hero
#endif
