//===- RingTile.h - an operand's tiles in shared memory, for load_matrix --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_RINGTILE_H
#define MPC_LOWERING_HEROTOGPU_RINGTILE_H
#include "passes/Lowering/HeroToGpu/Gather.h"

namespace mpc::hero {

/// A ring of tiles of 16-bit elements. A line holds up to 64 neighbours in memory: k of one row of A (column
/// of B), or rows (columns) of one k; wider tiles lie in panels, one behind the other. Chunks of 16 bytes are
/// permuted within lines, so that the eight rows of a matrix, one chunk of eight neighbouring lines each, lie
/// in different banks: a chunk moves to chunk ^ (line mod 8) where a line has 128 bytes (wgmma's b128); two
/// or four lines share 128 bytes where lines are shorter.
class RingTile {
public:
  /// `memory` is where the ring starts. `threads` threads fill it; the thread's number is `place.thread`.
  RingTile(Code c, const Operand &operand, mlir::Value base, int tileOuter, int tileK, int threads,
           const BlockPlace &place, const Problem &problem, mlir::Value memory);
  /// Must be called before `load`. `warpOuter` is the first row (column) of the thread's warp, which reads
  /// `partOuter` of them; `lane` is the thread's lane.
  void readBy(mlir::Value warpOuter, int partOuter, mlir::Value lane);

  Gather gather;

  /// Bring the units of a tile into stage `stage` (i32): as copies that wait for a commit, or from registers.
  void copyAsync(mlir::ValueRange cursor, mlir::Value stage);
  void store(mlir::ValueRange units, mlir::Value stage);
  /// Four matrices: 16 rows (columns), the `number`-th 16 of the warp's, by the `step`-th 16 of k.
  Values load(mlir::Value stage, int number, int step);

private:
  /// The offset of a chunk in a stage, in bytes; the chunk may lie in any panel.
  mlir::Value placeOf(mlir::Value line, mlir::Value chunk);
  mlir::Value stageOf(mlir::Value stage);
  int lineBytes() const { return lineChunks * 16; }

  Code c;
  bool alongK, rowsFirst;
  int tileK;
  int lineChunks, lines, panels;
  int64_t bytes; ///< the size of a stage
  mlir::Value memory;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> unitPlaces; ///< offsets in a stage, in bytes
  /// Offsets, in bytes, of the row that the lane addresses: one for each step where k is contiguous, else one
  /// for each number.
  Values lanePlaces;
};

} // namespace mpc::hero
#endif
