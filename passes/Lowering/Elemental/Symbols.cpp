//===- Symbols.cpp - ranges, quotients and materialisation of index forms -----===//
#include "dialects/Kernel/Analysis/Indices.h"
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mpc;

SymbolId ElementEmitter::addSymbol(int64_t extent) {
  symbols.push_back({extent, 0, std::max<int64_t>(extent - 1, 0), Value(), {}});
  return symbols.size() - 1;
}

void ElementEmitter::bindSymbols(ArrayRef<SymbolId> ids, Value value) {
  for (SymbolId id : ids) {
    symbols[id].value = value;
    symbols[id].shared = ids;
  }
}

Index ElementEmitter::opaque(Value value, int64_t low, int64_t high) {
  if (low == high)
    return Index(low);
  SymbolId id = addSymbol(high + 1);
  setRange(id, low, high);
  bindSymbols(id, value);
  return Index::symbol(id);
}

std::pair<int64_t, int64_t> ElementEmitter::range(const Index &i) const {
  int64_t low = i.constant(), high = i.constant();
  for (auto [id, c] : i.terms()) {
    low += c * (c > 0 ? symbols[id].low : symbols[id].high);
    high += c * (c > 0 ? symbols[id].high : symbols[id].low);
  }
  return {low, high};
}

bool ElementEmitter::visible(Value v) { return v.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()); }

//===-- Quotients ----------------------------------------------------------------===//

/// Finds i = divisor*quotient + remainder. Terms whose coefficient is a multiple of the divisor are taken out
/// of the division; when the range of the other terms fits into [0, divisor), nothing is left to divide.
ElementEmitter::Quotient &ElementEmitter::quotient(const Index &i, int64_t divisor) {
  Region *here = b.getInsertionBlock()->getParent();
  for (Quotient &q : quotients)
    if (q.divisor == divisor && q.dividend == i && q.region->isAncestor(here))
      return q;

  auto [whole, rest] = kernel::takeMultiples(i, divisor);
  auto [low, high] = range(rest);
  if (low < 0) { // only i as a whole is known not to be negative
    rest = i, whole = Index();
    std::tie(low, high) = range(rest);
    low = std::max<int64_t>(low, 0);
  }

  Quotient q{i, divisor, here, whole, rest};
  if (low / divisor == high / divisor) {
    q.quotient = whole + Index(low / divisor);
    q.remainder = rest - Index(low / divisor * divisor);
  } else {
    // A common factor is taken out of dividend and divisor: the numbers get smaller, and the remainder keeps
    // the factor in its coefficient.
    int64_t factor = kernel::commonFactor(rest, divisor);
    Index reduced(rest.constant() / factor);
    for (auto [id, c] : rest.terms())
      reduced = reduced + Index::symbol(id, c / factor);
    int64_t by = divisor / factor;
    Value v = materialize(reduced);
    // LLVM vectorises 32-bit divisions by constants, but not 64-bit ones.
    bool narrow = high <= INT32_MAX;
    Type type = narrow ? b.getI32Type() : b.getI64Type();
    if (narrow)
      v = truncate(type, v);
    auto widen = [&](Value x) { return narrow ? zeroExtend(b.getI64Type(), x) : x; };
    Value c = constantInt(type, by);
    q.quotient = whole + opaque(widen(div(v, c, /*isUnsigned=*/true)), low / divisor, high / divisor);
    q.remainder = opaque(widen(rem(v, c, /*isUnsigned=*/true)), 0, by - 1) * factor;
  }
  quotients.push_back(q);
  return quotients.back();
}

Index ElementEmitter::floorDiv(const Index &i, int64_t divisor) {
  return divisor == 1 ? i : quotient(i, divisor).quotient;
}
Index ElementEmitter::mod(const Index &i, int64_t divisor) {
  return divisor == 1 ? Index(0) : quotient(i, divisor).remainder;
}

Index ElementEmitter::clamp(const Index &i, int64_t low, int64_t high) {
  auto [least, greatest] = range(i);
  if (least >= low && greatest <= high)
    return i;
  if (greatest <= low)
    return Index(low);
  if (least >= high)
    return Index(high);
  Value v = materialize(i);
  if (least < low)
    v = max(v, i64(low));
  if (greatest > high)
    v = min(v, i64(high));
  return opaque(v, std::max(low, least), std::min(high, greatest));
}

Value ElementEmitter::inBounds(const Index &i, int64_t low, int64_t high, bool &never) {
  auto [least, greatest] = range(i);
  never = greatest < low || least >= high;
  if (never || (least >= low && greatest < high))
    return {};
  Value v = materialize(i), result;
  if (least < low)
    result = compare(arith::CmpIPredicate::sge, v, i64(low));
  if (greatest >= high) {
    Value below = compare(arith::CmpIPredicate::slt, v, i64(high));
    result = result ? both(result, below) : below;
  }
  return result;
}

Index ElementEmitter::linearize(ArrayRef<Index> index, ArrayRef<int64_t> shape) const {
  return kernel::recombined(kernel::numberOf(index, shape), quotients);
}

IndexVector ElementEmitter::delinearize(Index linear, ArrayRef<int64_t> shape) {
  return kernel::indexOf(linear, shape, [this](const Index &i, int64_t divisor) {
    return std::pair(floorDiv(i, divisor), mod(i, divisor));
  });
}

//===-- Materialisation -----------------------------------------------------------===//

Value ElementEmitter::materialize(const Index &index) {
  Index i = kernel::recombined(index, quotients);
  if (i.isConstant())
    return i64(i.constant());
  size_t key = hash_value(i);
  auto [first, last] = materialized.equal_range(key);
  for (; first != last; ++first)
    if (first->second.first == i && visible(first->second.second))
      return first->second.second;

  Value sum;
  auto add = [&](Value v, int64_t coefficient) {
    if (coefficient != 1)
      v = create<arith::MulIOp>(v, i64(coefficient), arith::IntegerOverflowFlags::nsw);
    sum = sum ? create<arith::AddIOp>(sum, v, arith::IntegerOverflowFlags::nsw) : v;
  };
  llvm::SmallVector<SymbolId, 8> done;
  for (auto [id, c] : i.terms()) {
    if (llvm::is_contained(done, id))
      continue;
    ArrayRef<SymbolId> shared = symbols[id].shared;
    assert(symbols[id].value && "the symbol is bound");
    // The next lines check whether this is a multiple of the shared variable.
    int64_t unit = i.coefficient(shared.back()), expected = unit;
    bool multiple = true;
    for (size_t k = shared.size(); k-- > 0; expected *= symbols[shared[k]].extent)
      multiple &= i.coefficient(shared[k]) == expected;
    if (multiple) {
      llvm::append_range(done, shared);
      add(symbols[id].value, unit);
      continue;
    }
    int64_t stride = 1;
    size_t position = llvm::find(shared, id) - shared.begin();
    for (SymbolId inner : shared.drop_front(position + 1))
      stride *= symbols[inner].extent;
    Value v = symbols[id].value;
    if (stride != 1)
      v = div(v, i64(stride), /*isUnsigned=*/true);
    if (position != 0)
      v = rem(v, i64(symbols[id].extent), /*isUnsigned=*/true);
    add(v, c);
  }
  if (i.constant() != 0)
    sum = create<arith::AddIOp>(sum, i64(i.constant()), arith::IntegerOverflowFlags::nsw);
  materialized.insert({key, {i, sum}});
  return sum;
}
