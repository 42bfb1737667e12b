//===- Raster.h - which tile of C a block computes, and when -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_RASTER_H
#define MPC_LOWERING_HEROTOGPU_RASTER_H
#include "passes/Lowering/HeroToGpu/Gather.h"
#include "passes/Lowering/Schedule/Schedule.h"

namespace mpc::hero {

/// Numbers the work items of a kernel, which the code calls pieces: one is a tile of C (or a cluster's
/// neighbouring tiles) of one matrix z and one split of k. The items that run at the same time, a wave, form
/// a rectangle of C that is as square as possible, so that they read as few rows of A and columns of B as
/// possible and find them in L2.
class Raster {
public:
  Raster(const Problem &problem, const Schedule &schedule, const GpuArch &arch);

  int64_t pieces() const;
  /// The place of a block in a work item. `rank` is the block's number in its cluster, null where blocks are alone.
  BlockPlace place(Code c, mlir::Value thread, mlir::Value piece, mlir::Value rank) const;
  /// The place of a block that computes the work item of its own number, and no other.
  BlockPlace placeOfBlock(Code c) const;

private:
  const Schedule &schedule;
  int64_t across, down; ///< the number of tiles (or clusters of tiles) along n and along m
  int64_t rows;         ///< the height of a strip of C: items are numbered down each of its columns
  int64_t matrices, kTiles;
};

} // namespace mpc::hero
#endif
