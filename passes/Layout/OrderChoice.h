//===- OrderChoice.h - chooses an order for each value -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a block ask for orders (wishes), and pairs of values ask to be stored alike (ties). Each wish and tie
// has a weight: the bytes that a transpose moves where it is not granted. They are granted one after the other, the
// heaviest first, unless they contradict what is granted already.
//
// A value's dimensions are axes. A tie unites axes of two values; a reshape splits them. What orders have to obey is a
// relation "comes before" between axes that never has a cycle, so that at the end one walk numbers all axes, and a
// value's order is that of its axes' numbers. Each wish and tie is looked at once: nothing is repeated until it is
// stable, so the choice ends on every program. It takes O(n log n) for the sorting and the union of axes, and for each
// wish and tie a walk over the axes that come before its own, which looks at no more than kLongestWalk of them (a walk
// that gets longer counts as a contradiction).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_LAYOUT_ORDERCHOICE_H
#define MPC_PASSES_LAYOUT_ORDERCHOICE_H
#include "passes/Layout/Order.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mpc::layout {

/// Dimension `x` of one value is the same as dimension `y` of another one.
struct DimPair {
  int64_t x, y;
};

/// Among wishes and ties of one weight, those of an earlier kind are granted first.
enum class Rank {
  /// An op can read or write the value in no other order.
  Need,
  /// Two values of one op are stored alike.
  Alike,
  /// The dimensions of a product's side lie together.
  Together,
  /// A transpose of the program vanishes.
  Transpose,
  /// An op reads or writes the value in the program's order, and others may convert it. This comes behind the ties, so
  /// that a transpose is made late, behind what shares a launch with a product.
  Plain,
  /// The op is faster so, but no transpose would pay for it: this comes behind all other demands,
  /// whatever their weights.
  Prefer,
};

class OrderChoice {
public:
  /// Dimensions of x and y lie in the same order.
  void tie(mlir::Value x, mlir::Value y, llvm::SmallVector<DimPair, 6> dims, Rank rank = Rank::Alike);
  /// y is a reshape of x: their elements lie in the same order.
  void tieReshape(mlir::Value x, mlir::Value y);
  /// For each pair, dimension x of v comes before its dimension y. The dimensions `whole` are not torn apart.
  void wish(mlir::Value v, llvm::SmallVector<DimPair, 6> before, llvm::SmallVector<int64_t, 6> whole,
            Rank rank = Rank::Need);
  /// v has this order of its dimensions.
  void wishOrder(mlir::Value v, llvm::ArrayRef<int64_t> dims, Rank rank);
  /// Dimension `dim` of v, here and in all values that are stored like it, is never split; a tied dimension may
  /// have another size.
  void keepWhole(mlir::Value v, int64_t dim);

  /// Grants wishes and ties.
  void solve();
  /// The order of v: that of the program for a value that asked for nothing.
  Order orderOf(mlir::Value v);

private:
  using Id = unsigned;
  struct Axis {
    Id parent, outer = 0, inner = 0;
    int64_t size;
    bool isSplit = false, whole = false, ordered = false;
    llvm::SmallVector<Id, 4> after; // it comes behind these
  };
  struct Digit {
    Id axis;
    int64_t size;
  };
  using Digits = llvm::SmallVector<Digit, 8>;
  struct Demand {
    int64_t bytes;
    Rank rank;
    mlir::Value x, y; // y is null for a wish
    llvm::SmallVector<DimPair, 6> dims{};
    llvm::SmallVector<int64_t, 6> whole{};
  };

  Id firstAxis(mlir::Value v);
  Id find(Id axis);
  void appendDigits(Id axis, Digits &digits);
  Digits digitsOf(mlir::Value v, int64_t dim);
  Digits digitsOf(mlir::Value v);
  Id group(Id member);
  void splitAxis(Id axis, int64_t inner);
  bool canAlign(Digits x, Digits y);
  void align(Digits x, Digits y, llvm::SmallVectorImpl<std::pair<Id, Id>> &pairs);
  /// A relation between some axes: bit j of row i says that i comes before j.
  using Relation = llvm::SmallVector<llvm::SmallBitVector, 8>;
  Relation relationOf(llvm::ArrayRef<Id> some);
  void grantTie(const Demand &demand);
  void grantWish(const Demand &demand);
  bool grantBefore(mlir::Value v, llvm::ArrayRef<DimPair> before, llvm::ArrayRef<int64_t> whole);
  void unite(Id x, Id y);
  void preferProgramOrder();
  void number();

  llvm::DenseMap<mlir::Value, Id> first;    // the axes of a value's dimensions are first, first + 1, ...
  llvm::SmallVector<mlir::Value, 0> values; // those in `first`
  llvm::SmallVector<Axis, 0> axes;
  llvm::SmallVector<Id, 0>
      groups; // by axis: the parent in the forest of values that are tied, whose members are first axes
  llvm::SmallVector<Demand, 0> demands;
  llvm::SmallVector<int64_t, 0> numbers;
};

} // namespace mpc::layout
#endif
