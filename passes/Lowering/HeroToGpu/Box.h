//===- Box.h - an operand's tiles as boxes of a tensor ---------------------------------------------===//
//
// The tensor memory accelerator fetches a box of a tensor for one thread, and writes zeros for what lies
// outside. Of two kinds of operands tiles are boxes:
//
// Tiled: each digit walks through memory in one stride, so the operand is a tensor of these digits.
//   A [m, k], k contiguous:                                    k, m, batch...   box 64 x tile.m
//   w [o, tap, c] of an input gradient (k = tap, o; n = c):    c, tap, o        box 64 x 1 x 64, for each 64
//   columns
//
// im2col: positions of an activation, of which each row (or k) has the next, and the taps of a filter, of
// which a tile has one. The accelerator walks through positions in turn; the tap is an offset.
//   x [n, h, w, c] of a convolution (m = n, y, x; k = tap, c):       box 64 channels x tile.m positions
//   x of a weight gradient (n = tap, c; k = n, y, x):                box 64 channels x 64 positions, for each
//   64 columns
//
//===------------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_BOX_H
#define MPC_LOWERING_HEROTOGPU_BOX_H
#include "passes/Lowering/HeroToGpu/Gather.h"

namespace mpc::hero {

/// Elements of a row of a box, of 16 bits: 128 bytes, the widest swizzle.
inline constexpr int boxElements = 64;

struct Box {
  struct Dimension {
    Axis axis;
    unsigned digit;
    int64_t size = 1, stride = 0; ///< elements, bytes
    int64_t box = 1;              ///< elements of a tile; im2col: of the innermost dimension only
    // im2col: position = step * digit + lower + offset
    int64_t step = 1, lower = 0, upper = 0;
    std::optional<Term> tap = {}; ///< offset = coefficient * digit, from the other end where that is negative
    int64_t taps = 1;
    std::optional<Term> group = {}; ///< added to the coordinate: the first channel of the matrix
  };
  llvm::SmallVector<Dimension, 5> dimensions; ///< innermost first
  int loads = 1;                              ///< boxes of a tile, boxElements rows (columns) apart
  int64_t pixels = 0;                         ///< positions of a box in im2col mode

  kernel::TensorMapAttr map(const Operand &operand, unsigned parameter) const;
  /// Of a tensor that lies as the operand does.
  kernel::TensorMapAttr map(mlir::Type element, unsigned parameter) const;
};

/// Nullopt where tiles of these extents are no boxes: strides that are not multiples of 16 bytes, more than
/// five dimensions, tiles that would go around a digit or have parts of two taps, positions beyond what maps
/// can say.
std::optional<Box> boxOf(const Operand &operand, int tileOuter, int tileK);

/// Tiles of `rows` x boxElements of C, for stores.
std::optional<Box> boxOfResult(const Operand &result, int rows);

/// The tiles of an operand that are boxes, in a ring as RingTile lays it out.
class BoxTile {
public:
  /// `box`: of tileOuter / blocks rows (columns). `map`: position of the tensor map; `memory`: where the ring
  /// starts. `blocks` of a cluster have the tile in common: each loads a part, that of its `rank`, into the
  /// rings of all.
  BoxTile(Code c, const Operand &operand, Box box, unsigned map, int tileOuter, int tileK,
          const BlockPlace &place, mlir::Value memory, int blocks, mlir::Value rank);
  /// The digits of k at a tile, and one tile on.
  Values cursor(mlir::Value kTile);
  Values advance(mlir::ValueRange cursor);
  /// Of one thread: starts the tile's loads into stage `stage`; `barrier` counts their bytes.
  void load(mlir::ValueRange cursor, mlir::Value stage, mlir::Value barrier);

private:
  Code c;
  const Operand &operand;
  Box box;
  unsigned map;
  int tileK;
  int64_t bytes; ///< of a stage
  mlir::Value memory;
  llvm::SmallVector<Values> outer; ///< digits of the rows (columns), by load
  Values z;
  int blocks;
};

} // namespace mpc::hero
#endif
