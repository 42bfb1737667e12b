//===- Gather.h - reads tiles of an operand ------------------------------------------------===//
//
// The threads of a block share the reading of a tile: each takes `units`, a vector of neighbours each. What
// does not depend on k is computed once, before the loop over k: the address of each unit, the positions that
// padding is checked at. The loop carries a cursor, the digits of k:
//
//   - of the tile, the same for all threads, where a tile never crosses the innermost digit: one digit only,
//   or an extent
//     that the tile divides (channels of a convolution);
//   - else of the thread's first unit; further ones follow by addition with carries.
//
// So the loop divides by nothing but the stride of an input gradient with dilations.
//
//===----------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_GATHER_H
#define MPC_LOWERING_HEROTOGPU_GATHER_H
#include "passes/Lowering/HeroToGpu/Code.h"
#include "passes/Lowering/HeroToGpu/Problem.h"
#include <limits>

namespace mpc::hero {

/// Where a block stands.
struct BlockPlace {
  mlir::Value thread;         ///< i32
  mlir::Value firstM, firstN; ///< i32, of the tile of C
  mlir::Value z, split;       ///< i32
  mlir::Value firstK, lastK;  ///< i32: tiles of k from … to (excluded)
  int64_t spanM, spanN;       ///< what m and n are rounded up to
};

/// Digits of a number that is not negative: in [0, product of extents), and beyond in the outermost one.
Values splitDigits(Code c, const Digits &extents, mlir::Value number);
/// The digits of the number + `amount`, a constant that is not negative: by carries.
Values addToDigits(Code c, const Digits &extents, mlir::ValueRange digits, int64_t amount);

class Gather {
public:
  /// `base` is the operand's buffer; a tile has `tileOuter` x `tileK` elements. Of the contiguous ones
  /// threads take `panelElements` before they go on to the next line.
  Gather(Code c, const Problem &problem, const Operand &operand, mlir::Value base, int tileOuter, int tileK,
         int threads, const BlockPlace &place, int panelElements = std::numeric_limits<int>::max());

  /// The unit's first element in the tile: a thread's part, the same for all units, and a constant.
  struct Unit {
    int outer, k;
  };
  llvm::ArrayRef<Unit> units() const { return unitList; }
  mlir::Value threadOuter, threadK; ///< i32
  /// Elements of a unit, along operand.contiguous.
  int vector() const { return operand.vector; }
  bool alongK() const { return operand.contiguous == Axis::K; }
  /// Which threads have units: null when all.
  mlir::Value active;
  /// A unit's register.
  mlir::Type unitType() const;

  /// The digits of k at a tile.
  Values cursor(mlir::Value kTile);
  /// One tile on.
  Values advance(mlir::ValueRange cursor);
  /// The units of the tile; zeros where there is nothing.
  Values load(mlir::ValueRange cursor);

  struct Address {
    mlir::Value pointer;
    mlir::Value valid; ///< null: always; where it is false the pointer points anywhere
  };
  llvm::SmallVector<Address> addresses(mlir::ValueRange cursor);

private:
  /// variable + constant
  struct Number {
    mlir::Value variable; ///< i32; null is zero
    int64_t constant = 0;
  };
  struct UnitState {
    mlir::Value pointer;
    int64_t bytes = 0;
    llvm::SmallVector<mlir::Value, 3> positions; ///< by coordinate; null where it needs none
    mlir::Value valid;
  };

  llvm::SmallVector<Number> digitsOf(Axis axis, Number value);
  UnitState prepare(Unit unit);
  const Digits &kDigits() const { return operand.digits[unsigned(Axis::K)]; }

  Code c;
  const Problem &problem;
  const Operand &operand;
  mlir::Value base;
  int tileK;
  const BlockPlace &place;
  bool uniform; ///< the cursor is the tile's
  unsigned bytes;
  llvm::SmallVector<Unit> unitList;
  llvm::SmallVector<UnitState> states;
};

} // namespace mpc::hero
#endif
