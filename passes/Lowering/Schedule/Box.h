//===- Box.h - an operand's tiles as boxes of a tensor ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor memory accelerator (TMA) fetches a box of a tensor on behalf of one thread, and writes zeros for the
// elements that lie outside of the tensor. Tiles of two kinds of operands are boxes:
//
// Tiled: memory is walked through in one stride along each digit, so the operand is a tensor of these digits.
//   A [m, k], k contiguous:                                    k, m, batch...   box 64 x tile.m
//   w [o, tap, c] of an input gradient (k = tap, o; n = c):    c, tap, o        box 64 x 1 x 64, for each 64 columns
//
// im2col: the operand is an activation. One axis of the tile runs over output positions, and all elements of the tile
// belong to the same tap of the filter. The accelerator walks through the positions in order; the tap is an offset.
//   x [n, h, w, c] of a convolution (m = n, y, x; k = tap, c):   box 64 channels x tile.m positions
//   x of a weight gradient (n = tap, c; k = n, y, x):            box 64 channels x 64 positions, for each 64 columns
//
//===------------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_SCHEDULE_BOX_H
#define MPC_LOWERING_SCHEDULE_BOX_H
#include "passes/Lowering/Schedule/Problem.h"

namespace mpc::hero {

/// The 16-bit elements in a row of a box: 128 bytes, the widest swizzle.
inline constexpr int boxElements = 64;

struct Box {
  struct Dimension {
    Axis axis;
    unsigned digit;
    int64_t size = 1, stride = 0; ///< the extent in elements, and the stride in bytes
    int64_t box = 1; ///< the extent of the box in elements; in im2col mode only that of the innermost dimension is used
    // im2col: position = step * digit + lower + offset
    int64_t step = 1, lower = 0, upper = 0;
    std::optional<Term> tap =
        {}; ///< offset = coefficient * digit; where the coefficient is negative, it counts from the last tap
    int64_t taps = 1;
    std::optional<Term> group = {}; ///< added to the coordinate: the first channel of the group
  };
  llvm::SmallVector<Dimension, 5> dimensions; ///< innermost first
  int loads = 1;                              ///< the number of boxes of a tile; each has boxElements rows (columns)
  int64_t pixels = 0;                         ///< positions of a box in im2col mode

  kernel::TensorMapAttr map(const Operand &operand, unsigned parameter) const;
  /// The map of a tensor of another element type that lies in memory as the operand does.
  kernel::TensorMapAttr map(mlir::Type element, unsigned parameter) const;
};

/// Nullopt where tiles of these extents are not boxes: because a stride is not a multiple of 16 bytes, there
/// are more than five dimensions, a tile would wrap around a digit or contain parts of two taps, or positions
/// exceed what a tensor map can express.
std::optional<Box> boxOf(const Operand &operand, int tileOuter, int tileK);

/// The boxes of `rows` x boxElements of C, for stores.
std::optional<Box> boxOfResult(const Operand &result, int rows);

} // namespace mpc::hero
#endif
