//===- Gather.h - reads tiles of an operand ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of a block share the reading of a tile: each reads some units, and a unit is a vector of neighbours
// in memory. What does not depend on k is computed once, before the loop over k: the address of each unit, and
// the positions that are compared with the tensor's extents because of padding. The loop carries a cursor, which
// holds the digits (Problem.h) of k:
//
//   - of the tile, the same for all threads, where a tile never crosses the innermost digit: there is only one
//     digit, or the tile divides its extent (channels of a convolution);
//   - otherwise of the thread's first unit; those of further units follow by addition with carries.
//
// So the loop divides by nothing but the stride of an input gradient with dilations.
//
//===----------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_GATHER_H
#define MPC_LOWERING_HEROTOGPU_GATHER_H
#include "passes/Lowering/HeroToGpu/Code.h"
#include "passes/Lowering/Schedule/Problem.h"
#include <limits>

namespace mpc::hero {

/// The place of a block in its work item.
struct BlockPlace {
  mlir::Value thread;         ///< i32
  mlir::Value firstM, firstN; ///< i32, the first row and column of the tile of C
  mlir::Value z, split;       ///< i32
  mlir::Value firstK, lastK;  ///< i32: the range of k's tiles, from firstK to lastK (excluded)
  int64_t spanM, spanN;       ///< the multiples that m and n are rounded up to
};

/// The digits of a number that is not negative. A number beyond the product of the extents gives an outermost
/// digit beyond its extent.
Values splitDigits(Code c, const Digits &extents, mlir::Value number);
/// The digits of the number plus `amount`, a constant that is not negative; computed by carries.
Values addToDigits(Code c, const Digits &extents, mlir::ValueRange digits, int64_t amount);

class Gather {
public:
  /// `base` is the operand's buffer; a tile has `tileOuter` x `tileK` elements. The threads read
  /// `panelElements` contiguous elements of a line before they go on to the next line.
  Gather(Code c, const Problem &problem, const Operand &operand, mlir::Value base, int tileOuter, int tileK,
         int threads, const BlockPlace &place, int panelElements = std::numeric_limits<int>::max());

  /// The position of a unit's first element in the tile is the sum of the thread's part (threadOuter,
  /// threadK), which all units share, and this constant.
  struct Unit {
    int outer, k;
  };
  llvm::ArrayRef<Unit> units() const { return unitList; }
  mlir::Value threadOuter, threadK; ///< i32
  /// The elements of a unit, along operand.contiguous.
  int vector() const { return operand.vector; }
  bool alongK() const { return operand.contiguous == Axis::K; }
  /// The condition (i1) under which a thread has units; null where every thread has some.
  mlir::Value active;
  /// The type of the register that holds a unit.
  mlir::Type unitType() const;

  /// The cursor at a tile of k.
  Values cursor(mlir::Value kTile);
  /// The cursor one tile further on.
  Values advance(mlir::ValueRange cursor);
  /// Reads the units of the tile; a unit outside of the tensor reads as zeros.
  Values load(mlir::ValueRange cursor);

  struct Address {
    mlir::Value pointer;
    mlir::Value valid; ///< null where it is always valid; where it is false, the pointer may point anywhere
  };
  llvm::SmallVector<Address> addresses(mlir::ValueRange cursor);

private:
  /// A number in two parts: variable + constant.
  struct Number {
    mlir::Value variable; ///< i32; null means zero
    int64_t constant = 0;
  };
  struct UnitState {
    mlir::Value pointer;
    int64_t bytes = 0;
    llvm::SmallVector<mlir::Value, 3> positions; ///< one for each coordinate; null where the coordinate is not needed
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
  bool uniform; ///< whether the cursor is the tile's, not the thread's
  unsigned bytes;
  llvm::SmallVector<Unit> unitList;
  llvm::SmallVector<UnitState> states;
};

} // namespace mpc::hero
#endif
