//===- Indices.h - arithmetic on linear forms with known ranges ---------------------===//
#ifndef MPC_KERNEL_ANALYSIS_INDICES_H
#define MPC_KERNEL_ANALYSIS_INDICES_H
#include "dialects/Kernel/Analysis/Index.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>
#include <vector>

namespace mpc::kernel {

/// Returns (whole, rest) with i = divisor * whole + rest: the terms whose coefficient is a multiple of the divisor go
/// into `whole`, and the constant of `rest` is in [0, divisor).
std::pair<Index, Index> takeMultiples(const Index &i, int64_t divisor);
/// Returns the greatest common divisor of a number, the constant and the coefficients.
int64_t commonFactor(const Index &i, int64_t number);
/// Returns the row-major number of an index of a tensor.
Index numberOf(llvm::ArrayRef<Index> index, llvm::ArrayRef<int64_t> shape);

/// Returns the index of the element with a row-major number; `divide` gives (quotient, remainder).
template <typename Divide>
IndexVector indexOf(Index number, llvm::ArrayRef<int64_t> shape, Divide divide) {
  IndexVector index(shape.size());
  int64_t outer = 1;
  for (int64_t extent : shape)
    outer *= extent;
  for (size_t i = shape.size(); i-- > 0;) {
    outer /= std::max<int64_t>(shape[i], 1);
    if (shape[i] == 1)
      continue;
    if (outer == 1) { // the outer extents are all 1
      index[i] = number;
      break;
    }
    std::tie(number, index[i]) = divide(number, shape[i]);
  }
  return index;
}

/// Where i contains a multiple of divisor * quotient + remainder, puts the dividend in its place: if a reshape took a
/// number apart and no op reads the parts, no division is needed. The quotients have the members dividend, divisor,
/// quotient and remainder.
template <typename Quotients>
Index recombined(Index i, const Quotients &quotients) {
  // The last quotients come first, since they may divide quotients of earlier ones.
  for (const auto &q : llvm::reverse(quotients)) {
    // A remainder that was computed is one symbol; where no division was needed, the remainder consists of the
    // dividend's own symbols.
    if (q.remainder.terms().size() != 1 || q.remainder.constant() != 0)
      continue;
    auto [lower, factor] = q.remainder.terms()[0];
    int64_t unit = i.coefficient(lower);
    if (unit == 0 || q.dividend.coefficient(lower) != 0)
      continue;
    for (auto [upper, one] : q.quotient.terms())
      if (one == 1 && q.dividend.coefficient(upper) == 0 && i.coefficient(upper) == q.divisor / factor * unit) {
        // divisor / factor * upper + lower = (dividend - divisor * (quotient - upper)) / factor
        Index whole = q.quotient - Index::symbol(upper), rest = q.dividend - whole * q.divisor,
              part(rest.constant() / factor);
        for (auto [symbol, c] : rest.terms())
          part = part + Index::symbol(symbol, c / factor);
        i = i + (part - Index::symbol(lower) - Index::symbol(upper, q.divisor / factor)) * unit;
        break;
      }
  }
  return i;
}

/// Symbols with their ranges, and quotients of linear forms over them. Quotients and remainders are linear forms where
/// the ranges allow it; others are new symbols.
class Indices {
public:
  /// Returns a new symbol in [low, high]; a number where there is only one.
  Index add(int64_t low, int64_t high);
  /// Returns the least and the greatest value of the index.
  std::pair<int64_t, int64_t> range(const Index &i) const;
  /// Returns (i / divisor, i % divisor) of an index that is not negative.
  std::pair<Index, Index> divide(const Index &i, int64_t divisor);
  Index linearize(llvm::ArrayRef<Index> index, llvm::ArrayRef<int64_t> shape) const {
    return recombined(numberOf(index, shape), quotients);
  }
  IndexVector delinearize(const Index &number, llvm::ArrayRef<int64_t> shape) {
    return indexOf(number, shape, [this](const Index &i, int64_t divisor) { return divide(i, divisor); });
  }

  /// The dividends of all divisions that were no linear forms.
  llvm::SmallVector<Index> divided;

private:
  struct Quotient {
    Index dividend;
    int64_t divisor;
    Index quotient, remainder;
  };
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::vector<Quotient> quotients;
};

} // namespace mpc::kernel
#endif
