//===- Symbols.cpp - ranges, quotients and materialisation of index forms -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mpc;

SymbolId ElementEmitter::addSymbol(int64_t extent) {
  symbols.push_back({extent, Value(), {}});
  return indices.addSymbol(0, std::max<int64_t>(extent - 1, 0));
}

void ElementEmitter::bindSymbols(ArrayRef<SymbolId> ids, Value value) {
  for (SymbolId id : ids) {
    symbols[id].value = value;
    symbols[id].shared = ids;
  }
}

void ElementEmitter::setRange(SymbolId id, int64_t low, int64_t high) {
  indices.setRange(id, low, high);
  std::erase_if(memo, [&](const auto &entry) {
    return llvm::any_of(entry.second.index, [&](const Index &i) { return i.coefficient(id) != 0; });
  });
}

Index ElementEmitter::opaque(Value value, int64_t low, int64_t high) {
  if (low == high)
    return Index(low);
  SymbolId id = addSymbol(high + 1);
  indices.setRange(id, low, high);
  bindSymbols(id, value);
  return Index::symbol(id);
}

bool ElementEmitter::visible(Value v) { return v.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()); }

//===-- Quotients ----------------------------------------------------------------===//

Indices::Division ElementEmitter::divide(const Index &i, int64_t divisor) {
  return indices.divide(i, divisor, b.getInsertionBlock()->getParent(),
                        [&](const Index &dividend, int64_t by, Indices::Range range) {
                          auto [low, high] = range;
                          Value v = materialize(dividend);
                          // LLVM vectorises 32-bit divisions by constants, but not 64-bit ones.
                          bool narrow = high <= INT32_MAX;
                          Type type = narrow ? b.getI32Type() : b.getI64Type();
                          if (narrow)
                            v = truncate(type, v);
                          auto widen = [&](Value x) { return narrow ? zeroExtend(b.getI64Type(), x) : x; };
                          Value c = constantInt(type, by);
                          Index quotient = opaque(widen(div(v, c, /*isUnsigned=*/true)), low / by, high / by);
                          return Indices::Division(quotient, opaque(widen(rem(v, c, /*isUnsigned=*/true)), 0, by - 1));
                        });
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
    result = both(result, below);
  }
  return result;
}

//===-- Materialisation -----------------------------------------------------------===//

Value ElementEmitter::materialize(const Index &index) {
  Index i = indices.recombined(index);
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
