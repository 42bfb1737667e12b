#include "dialects/Kernel/Analysis/Indices.h"
#include <numeric>

using namespace llvm;
using namespace mpc;
using namespace mpc::kernel;

std::pair<Index, Index> kernel::takeMultiples(const Index &i, int64_t divisor) {
  int64_t remainder = ((i.constant() % divisor) + divisor) % divisor;
  Index whole((i.constant() - remainder) / divisor), rest(remainder);
  for (auto [id, c] : i.terms())
    if (c % divisor == 0)
      whole = whole + Index::symbol(id, c / divisor);
    else
      rest = rest + Index::symbol(id, c);
  return {whole, rest};
}

int64_t kernel::commonFactor(const Index &i, int64_t number) {
  int64_t factor = std::gcd(number, i.constant());
  for (auto [id, c] : i.terms())
    factor = std::gcd(factor, c);
  return factor;
}

Index kernel::numberOf(ArrayRef<Index> index, ArrayRef<int64_t> shape) {
  Index number;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    if (shape[i] != 1)
      number = number + index[i] * stride;
  return number;
}

Index Indices::add(int64_t low, int64_t high) {
  SymbolId id = ranges.size();
  ranges.push_back({low, high});
  return low == high ? Index(low) : Index::symbol(id);
}

std::pair<int64_t, int64_t> Indices::range(const Index &i) const {
  int64_t low = i.constant(), high = i.constant();
  for (auto [id, c] : i.terms()) {
    low += c * (c > 0 ? ranges[id].first : ranges[id].second);
    high += c * (c > 0 ? ranges[id].second : ranges[id].first);
  }
  return {low, high};
}

/// Terms whose coefficient is a multiple of the divisor are taken out of the division. Where the range of the others
/// fits into [0, divisor), nothing is left to divide.
std::pair<Index, Index> Indices::divide(const Index &i, int64_t divisor) {
  if (divisor == 1)
    return {i, Index(0)};
  for (const Quotient &q : quotients)
    if (q.divisor == divisor && q.dividend == i)
      return {q.quotient, q.remainder};
  auto [whole, rest] = takeMultiples(i, divisor);
  auto [low, high] = range(rest);
  if (low < 0) { // only i as a whole is known not to be negative
    rest = i, whole = Index();
    std::tie(low, high) = range(rest);
    low = std::max<int64_t>(low, 0);
  }
  Quotient q{i, divisor, whole, rest};
  if (low / divisor == high / divisor) {
    q.quotient = whole + Index(low / divisor);
    q.remainder = rest - Index(low / divisor * divisor);
  } else {
    int64_t factor = commonFactor(rest, divisor);
    divided.push_back(rest);
    q.quotient = whole + add(low / divisor, high / divisor);
    q.remainder = add(0, divisor / factor - 1) * factor;
  }
  quotients.push_back(q);
  return {q.quotient, q.remainder};
}
