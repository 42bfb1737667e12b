//===- Index.h - linear forms over loop variables ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This is the index of an element, for analyses and while code for the element is emitted: a linear form
// `sum(coefficient * symbol) + constant`. A symbol stands for a loop variable or for a number that was computed (the
// value of a gather index, a quotient), and has a known range. Since indices stay symbolic, reshape, transpose, slice,
// broadcast and pad fold into addresses: quotients and remainders vanish whenever the ranges allow it, and what is left
// are the plain strides that LLVM's vectoriser needs.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_KERNEL_ANALYSIS_INDEX_H
#define MPC_KERNEL_ANALYSIS_INDEX_H
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <utility>

namespace mpc {

using SymbolId = uint32_t;

class Index {
public:
  using Term = std::pair<SymbolId, int64_t>;

  Index() = default;
  /*implicit*/ Index(int64_t constant) : offset(constant) {}
  static Index symbol(SymbolId id, int64_t coefficient = 1) {
    Index i;
    if (coefficient != 0)
      i.parts.push_back({id, coefficient});
    return i;
  }

  llvm::ArrayRef<Term> terms() const { return parts; } ///< sorted by symbol, coefficients are not zero
  int64_t constant() const { return offset; }
  bool isConstant() const { return parts.empty(); }
  int64_t coefficient(SymbolId id) const {
    for (const Term &t : parts)
      if (t.first == id)
        return t.second;
    return 0;
  }

  Index operator+(const Index &other) const {
    Index sum;
    sum.offset = offset + other.offset;
    auto a = parts.begin(), b = other.parts.begin();
    while (a != parts.end() || b != other.parts.end()) {
      if (b == other.parts.end() || (a != parts.end() && a->first < b->first)) {
        sum.parts.push_back(*a++);
      } else if (a == parts.end() || b->first < a->first) {
        sum.parts.push_back(*b++);
      } else {
        if (int64_t c = a->second + b->second)
          sum.parts.push_back({a->first, c});
        ++a, ++b;
      }
    }
    return sum;
  }
  Index operator*(int64_t factor) const {
    if (factor == 0)
      return {};
    Index product = *this;
    product.offset *= factor;
    for (Term &t : product.parts)
      t.second *= factor;
    return product;
  }
  Index operator-(const Index &other) const { return *this + other * -1; }
  bool operator==(const Index &other) const { return offset == other.offset && parts == other.parts; }

  friend llvm::hash_code hash_value(const Index &i) {
    return llvm::hash_combine(i.offset, llvm::hash_combine_range(i.parts.begin(), i.parts.end()));
  }

private:
  llvm::SmallVector<Term, 4> parts;
  int64_t offset = 0;
};

using IndexVector = llvm::SmallVector<Index, 5>;

} // namespace mpc
#endif
