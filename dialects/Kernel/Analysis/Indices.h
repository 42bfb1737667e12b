//===- Indices.h - arithmetic on linear forms with known ranges ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_INDICES_H
#define MPC_KERNEL_ANALYSIS_INDICES_H
#include "dialects/Kernel/Analysis/Index.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace mpc {

/// Symbols with their ranges, and quotients of linear forms over them. Quotients and remainders are linear forms where
/// the ranges allow it; others are new symbols.
class Indices {
public:
  /// The least and the greatest value of a number.
  using Range = std::pair<int64_t, int64_t>;
  /// A quotient, rounded down, and its remainder.
  using Division = std::pair<Index, Index>;
  /// Makes the symbols of a division that is no linear form. The dividend is in the range, which has no negative
  /// number, and has no common factor with the divisor.
  using MakeDivision = llvm::function_ref<Division(const Index &dividend, int64_t divisor, Range range)>;

  /// Returns a new symbol in [low, high].
  SymbolId addSymbol(int64_t low, int64_t high);
  /// Returns a new symbol in [low, high] as an index; a number where there is only one.
  Index add(int64_t low, int64_t high);
  void setRange(SymbolId id, int64_t low, int64_t high) { ranges[id] = {low, high}; }
  Range range(const Index &i) const;

  /// Returns (i / divisor, i % divisor) of an index that is not negative; the symbols are new ones in their ranges.
  Division divide(const Index &i, int64_t divisor);
  /// Does the same with symbols that `make` makes for the code in a region. A later division in it, or in a region
  /// inside of it, has the same symbols.
  Division divide(const Index &i, int64_t divisor, mlir::Region *region, MakeDivision make);
  /// Returns the row-major number of an index of a tensor.
  Index linearize(llvm::ArrayRef<Index> index, llvm::ArrayRef<int64_t> shape) const;
  /// Returns the index of the element with a row-major number, by a function that divides.
  static IndexVector delinearize(Index number, llvm::ArrayRef<int64_t> shape,
                                 llvm::function_ref<Division(const Index &, int64_t)> divide);
  IndexVector delinearize(const Index &number, llvm::ArrayRef<int64_t> shape) {
    return delinearize(number, shape, [this](const Index &i, int64_t divisor) { return divide(i, divisor); });
  }
  /// Where i contains a multiple of divisor * quotient + remainder of an earlier division, puts the dividend in its
  /// place: if a reshape took a number apart and no op reads the parts, no division is needed.
  Index recombined(Index i) const;

  /// The dividends of all divisions that were no linear forms.
  llvm::SmallVector<Index> divided;

private:
  struct Quotient {
    Index dividend;
    int64_t divisor;
    mlir::Region *region; ///< null where the symbols are of no code
    Index quotient, remainder;
  };
  std::vector<Range> ranges;
  std::vector<Quotient> quotients;
};

} // namespace mpc
#endif
