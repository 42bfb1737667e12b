//===- RingTile.h - an operand's tiles in shared memory, for load_matrix --------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_RINGTILE_H
#define MPC_LOWERING_HEROTOGPU_RINGTILE_H
#include "passes/Lowering/HeroToGpu/Gather.h"

namespace mpc::hero {

/// A ring of `stages` tiles of 16-bit elements. A line holds neighbours in memory, 64 at most: k of one row
/// of A (column of B), or rows (columns) of one k; what is wider lies in panels, one behind the other. Chunks
/// of 16 bytes are permuted within lines, so that the eight rows of a matrix, one chunk of eight neighbouring
/// lines, lie in different banks: chunk ^ (line mod 8) where a line is 128 bytes (wgmma's b128); two or four
/// lines share 128 bytes where it is shorter.
class RingTile {
public:
  /// `memory`: where the ring starts. `threads` fill it; the thread's number is `place.thread`.
  RingTile(Code c, const Operand &operand, mlir::Value base, int tileOuter, int tileK, int threads,
           const BlockPlace &place, const Problem &problem, mlir::Value memory);
  /// Before `load`. `warpOuter`: first row (column) of the thread's warp, which has `partOuter`; `lane`: of
  /// the thread.
  void readBy(mlir::Value warpOuter, int partOuter, mlir::Value lane);

  static int64_t stageBytes(int tileOuter, int tileK) { return int64_t(tileOuter) * tileK * 2; }
  Gather gather;

  /// The units of a tile into stage `stage` (i32), as copies that wait for a commit, or from registers.
  void copyAsync(mlir::ValueRange cursor, mlir::Value stage);
  void store(mlir::ValueRange units, mlir::Value stage);
  /// Four matrices: 16 rows (columns) from 16 `number` of the warp's, k from 16 `step`.
  Values load(mlir::Value stage, int number, int step);

private:
  /// Bytes in a stage of a chunk, which may lie in any panel.
  mlir::Value placeOf(mlir::Value line, mlir::Value chunk);
  mlir::Value stageOf(mlir::Value stage);
  int lineBytes() const { return lineChunks * 16; }

  Code c;
  bool alongK, rowsFirst;
  int tileK;
  int lineChunks, lines, panels;
  int64_t bytes; ///< of a stage
  mlir::Value memory;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> unitPlaces; ///< bytes in a stage
  Values lanePlaces; ///< bytes of the lane's row: by step along k, else by number
};

} // namespace mpc::hero
#endif
