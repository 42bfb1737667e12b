// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Analysis/Indices.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <tuple>

using namespace llvm;
using namespace mpc;

//===-- Symbols ------------------------------------------------------------------===//

SymbolId Indices::addSymbol(int64_t low, int64_t high) {
  ranges.push_back({low, high});
  return ranges.size() - 1;
}

Index Indices::add(int64_t low, int64_t high) {
  SymbolId id = addSymbol(low, high);
  return low == high ? Index(low) : Index::symbol(id);
}

Indices::Range Indices::range(const Index &i) const {
  int64_t low = i.constant(), high = i.constant();
  for (auto [id, c] : i.terms()) {
    low += c * (c > 0 ? ranges[id].first : ranges[id].second);
    high += c * (c > 0 ? ranges[id].second : ranges[id].first);
  }
  return {low, high};
}

//===-- Quotients ----------------------------------------------------------------===//

/// Returns (whole, rest) with i = divisor * whole + rest: the terms whose coefficient is a multiple of the divisor go
/// into `whole`, and the constant of `rest` is in [0, divisor).
static std::pair<Index, Index> takeMultiples(const Index &i, int64_t divisor) {
  int64_t remainder = ((i.constant() % divisor) + divisor) % divisor;
  Index whole((i.constant() - remainder) / divisor), rest(remainder);
  for (auto [id, c] : i.terms())
    if (c % divisor == 0)
      whole = whole + Index::symbol(id, c / divisor);
    else
      rest = rest + Index::symbol(id, c);
  return {whole, rest};
}

/// Returns the greatest common divisor of a number, the constant and the coefficients.
static int64_t commonFactor(const Index &i, int64_t number) {
  int64_t factor = std::gcd(number, i.constant());
  for (auto [id, c] : i.terms())
    factor = std::gcd(factor, c);
  return factor;
}

/// Divides an index by a number that divides its constant and its coefficients.
static Index divideExactly(const Index &i, int64_t factor) {
  Index quotient(i.constant() / factor);
  for (auto [id, c] : i.terms())
    quotient = quotient + Index::symbol(id, c / factor);
  return quotient;
}

Indices::Division Indices::divide(const Index &i, int64_t divisor) {
  return divide(i, divisor, /*region=*/nullptr, [this](const Index &, int64_t by, Range range) {
    Index quotient = add(range.first / by, range.second / by);
    return Division(quotient, add(0, by - 1));
  });
}

// Terms whose coefficient is a multiple of the divisor are taken out of the division. Where the range of the others
// fits into [0, divisor), nothing is left to divide.
Indices::Division Indices::divide(const Index &i, int64_t divisor, mlir::Region *region, MakeDivision make) {
  if (divisor == 1)
    return {i, Index(0)};
  for (const Quotient &q : quotients)
    if (q.divisor == divisor && q.dividend == i && (!q.region || q.region->isAncestor(region)))
      return {q.quotient, q.remainder};
  auto [whole, rest] = takeMultiples(i, divisor);
  auto [low, high] = range(rest);
  if (low < 0) { // only i as a whole is known not to be negative
    rest = i, whole = Index();
    std::tie(low, high) = range(rest);
    low = std::max<int64_t>(low, 0);
  }
  Quotient q{i, divisor, region, whole, rest};
  if (low / divisor == high / divisor) {
    q.quotient = whole + Index(low / divisor);
    q.remainder = rest - Index(low / divisor * divisor);
  } else {
    // A common factor is taken out of dividend and divisor: the numbers get smaller, and the remainder keeps the factor
    // in its coefficient.
    int64_t factor = commonFactor(rest, divisor);
    divided.push_back(rest);
    auto [quotient, remainder] =
        make(divideExactly(rest, factor), divisor / factor, Range(low / factor, high / factor));
    q.quotient = whole + quotient;
    q.remainder = remainder * factor;
  }
  quotients.push_back(q);
  return {q.quotient, q.remainder};
}

//===-- Row-major numbers ----------------------------------------------------------===//

Index Indices::linearize(ArrayRef<Index> index, ArrayRef<int64_t> shape) const {
  Index number;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    if (shape[i] != 1)
      number = number + index[i] * stride;
  return recombined(number);
}

IndexVector Indices::delinearize(Index number, ArrayRef<int64_t> shape,
                                 function_ref<Division(const Index &, int64_t)> divide) {
  IndexVector index(shape.size());
  int64_t outer = llvm::product_of(shape);
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

Index Indices::recombined(Index i) const {
  // The last quotients come first, since they may divide quotients of earlier ones.
  for (const Quotient &q : llvm::reverse(quotients)) {
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
        Index whole = q.quotient - Index::symbol(upper), part = divideExactly(q.dividend - whole * q.divisor, factor);
        i = i + (part - Index::symbol(lower) - Index::symbol(upper, q.divisor / factor)) * unit;
        break;
      }
  }
  return i;
}
