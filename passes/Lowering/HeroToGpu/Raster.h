//===- Raster.h - which tile of C a block computes, and when -------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_RASTER_H
#define MPC_LOWERING_HEROTOGPU_RASTER_H
#include "passes/Lowering/HeroToGpu/Gather.h"
#include "passes/Lowering/HeroToGpu/Schedule.h"

namespace mpc::hero {

/// Numbers the tiles of C, of all matrices and splits: the pieces of work. Those that run at the same time, a
/// wave of them, form a rectangle of C that is as square as can be, so that they read as few rows of A and
/// columns of B as can be, and find them in L2. A cluster's blocks share a piece: they have neighbouring
/// tiles.
class Raster {
public:
  Raster(const Problem &problem, const Schedule &schedule, const GpuArch &arch);

  int64_t pieces() const;
  /// Where a block stands in a piece. `rank`: of the block in its cluster, null where it is alone.
  BlockPlace place(Code c, mlir::Value thread, mlir::Value piece, mlir::Value rank) const;

private:
  const Schedule &schedule;
  int64_t across, down; ///< tiles, or clusters of them, along n and m
  int64_t rows;         ///< of a strip: numbers run down each of its columns
  int64_t matrices, kTiles;
};

} // namespace mpc::hero
#endif
