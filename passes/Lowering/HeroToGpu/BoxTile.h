//===- BoxTile.h - loads of tiles that are boxes ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_BOXTILE_H
#define MPC_LOWERING_HEROTOGPU_BOXTILE_H
#include "passes/Lowering/HeroToGpu/Gather.h"
#include "passes/Lowering/Schedule/Box.h"

namespace mpc::hero {

/// The tiles of an operand that come as boxes, in a ring that is laid out as RingTile does it.
class BoxTile {
public:
  /// `box` has tileOuter / blocks rows (columns). `map` is the number of the tensor map; `memory` is where
  /// the ring starts. The `blocks` blocks of a cluster share the tile: each loads the part that its `rank`
  /// names into the rings of all of them.
  BoxTile(Code c, const Operand &operand, Box box, unsigned map, int tileOuter, int tileK, const BlockPlace &place,
          mlir::Value memory, int blocks, mlir::Value rank);
  /// The digits of k at a tile, and those one tile further on.
  Values cursor(mlir::Value kTile);
  Values advance(mlir::ValueRange cursor);
  /// Called by one thread: starts the loads of the tile into stage `stage`; `barrier` counts their bytes.
  void load(mlir::ValueRange cursor, mlir::Value stage, mlir::Value barrier);

private:
  Code c;
  const Operand &operand;
  Box box;
  unsigned map;
  int tileK;
  int64_t bytes; ///< the size of a stage
  mlir::Value memory;
  llvm::SmallVector<Values> outer; ///< the digits of the rows (columns), for each load
  Values z;
  int blocks;
};

} // namespace mpc::hero
#endif
