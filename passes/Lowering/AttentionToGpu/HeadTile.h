//===- HeadTile.h - rows of a head in shared memory ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_ATTENTIONTOGPU_HEADTILE_H
#define MPC_LOWERING_ATTENTIONTOGPU_HEADTILE_H
#include "passes/Lowering/HeroToGpu/Code.h"
#include "passes/Lowering/Schedule/AttentionSchedule.h"

namespace mpc::attention {

using hero::Code;
using hero::Values;
using mlir::Value;

/// This says where a tensor [B, H, rows, width] lies. Its rows are contiguous.
struct HeadLayout {
  Value pointer;             ///< global memory
  int64_t offset;            ///< elements in front of the first row
  int64_t sample, head, row; ///< elements from one to the next
  int64_t rows, width;       ///< of a head
  /// Returns the address of row 0 of a head; both numbers are i32, and an element has `bytes` bytes.
  Value at(Code c, Value sampleNumber, Value headNumber, int64_t bytes = 2) const;
};

/// A tile has some rows of a head, for load_matrix and wgmma. A line holds 64 elements of a row; wider heads lie in
/// panels, one behind the other, and narrower ones leave the end of their lines unused. Chunks of 16 bytes are permuted
/// within lines (chunk ^ line mod 8), so that the eight rows of a matrix lie in different banks: wgmma's swizzle b128,
/// if the tile starts at a multiple of 1024 bytes. Elements beyond the head's width, up to a multiple of 16, are zeros.
class HeadTile {
public:
  /// `threads` threads fill the tile, and `thread` (i32) is the number of this one.
  HeadTile(Code c, int64_t rows, int64_t width, int threads, Value thread);
  int64_t bytes() const { return tileBytes(rows, width); }
  /// Returns how many steps of 16 elements a row has.
  int steps() const { return int(llvm::divideCeil(width, 16)); }

  /// Starts the copies of rows firstRow, firstRow + 1, ... of a head into `tile`; rows that the head does not
  /// have become zeros.
  void copy(Value tile, Value head, const HeadLayout &layout, Value firstRow) const;

  // These return the four registers of load_matrix for 16 rows from `row`, a multiple of 16, and 16 elements.
  /// The registers are a fragment of A, whose rows are the tile's.
  Values rowsOfA(Value tile, Value row, int step) const {
    return load(tile, c.wide(c.mul(row, lineBytes)), laneA, step, false);
  }
  /// They are fragments of B for two blocks of 8 columns, which are the tile's rows.
  Values columnsOfB(Value tile, int row, int step) const {
    return load(tile, c.i64(row * lineBytes), laneB, step, false);
  }
  /// They are fragments of B for two blocks of 8 columns, which are the tile's elements; its rows are k.
  Values rowsOfB(Value tile, int row, int step) const { return load(tile, c.i64(row * lineBytes), laneA, step, true); }

  /// Says how wgmma reads the tile as A or B. With `transposed` its rows are k of B, else its elements are k.
  kernel::MatrixLayoutAttr layout(bool transposed) const;
  /// Returns how many bytes behind the tile's start 16 k begin, which are elements or, transposed, rows.
  uint32_t offsetOf(int step, bool transposed) const {
    return uint32_t(transposed ? step * 16 * lineBytes : step % 4 * 2 * chunkBytes + step / 4 * rows * lineBytes);
  }

private:
  static constexpr int64_t lineBytes = 128, chunkElements = 8, chunkBytes = 16;
  Values load(Value tile, Value line, Value lane, int step, bool transpose) const;

  mutable Code c;
  int64_t rows, width;
  int threads;
  Value thread, laneA, laneB;
};

} // namespace mpc::attention
#endif
