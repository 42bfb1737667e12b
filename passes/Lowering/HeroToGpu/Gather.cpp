//===- Gather.cpp - addresses and validity of an operand's elements ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/Gather.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

Values mpc::hero::splitDigits(Code c, const Digits &extents, Value number) {
  Values digits(extents.size());
  for (size_t d = extents.size(); d-- > 1;) {
    digits[d] = c.rem(number, extents[d]);
    number = c.div(number, extents[d]);
  }
  digits[0] = number;
  return digits;
}

Values mpc::hero::addToDigits(Code c, const Digits &extents, ValueRange digits, int64_t amount) {
  Values result(digits.begin(), digits.end());
  Value carry; // i1
  for (size_t d = extents.size(); d-- > 0;) {
    int64_t step = d == 0 ? amount : amount % extents[d];
    amount /= extents[d];
    Value sum = c.add(result[d], step);
    if (carry)
      sum = c.select(carry, c.add(sum, 1), sum);
    if (d > 0 && (step != 0 || carry)) {
      // Where the step is 0, only a carry can reach the extent; in any case the digit stays below twice the extent.
      carry = c.compare(arith::CmpIPredicate::sge, sum, c.i32(extents[d]));
      sum = c.select(carry, c.add(sum, -extents[d]), sum);
    }
    result[d] = sum;
  }
  return result;
}

Gather::Gather(Code c, const Problem &problem, const Operand &operand, Value base, int tileOuter, int tileK,
               int threads, const BlockPlace &place, int panelElements)
    : c(c), problem(problem), operand(operand), base(base), tileK(tileK), place(place),
      uniform(kDigits().size() == 1 || kDigits().back() % tileK == 0),
      bytes(graph::elementOf(operand.tensor).getIntOrFloatBitWidth() / 8) {
  // Neighbouring threads take neighbouring units of a line, and one panel follows the other.
  int inner = alongK() ? tileK : tileOuter, lines = alongK() ? tileOuter : tileK;
  int panel = std::min(inner, panelElements), v = operand.vector, line = panel / v;
  assert(inner % panel == 0 && (line % threads == 0 || threads % line == 0));
  Value innerUnit = c.mul(c.rem(place.thread, line), v), across = c.div(place.thread, line);
  if (line > threads)
    innerUnit = c.mul(place.thread, v), across = c.i32(0);
  threadOuter = alongK() ? across : innerUnit;
  threadK = alongK() ? innerUnit : across;
  if (line * lines < threads)
    active = c.below(place.thread, line * lines);
  for (int start = 0; start < inner; start += panel)
    for (int first = 0; first < line * lines; first += threads) {
      int at = start + first % line * v, number = first / line;
      unitList.push_back(alongK() ? Unit{number, at} : Unit{at, number});
    }
  for (Unit unit : unitList)
    states.push_back(prepare(unit));
}

Type Gather::unitType() const {
  unsigned size = operand.vector * bytes;
  if (size > 4)
    return VectorType::get({size / 4}, c.b.getI32Type());
  return c.b.getIntegerType(8 * size);
}

llvm::SmallVector<Gather::Number> Gather::digitsOf(Axis axis, Number value) {
  const Digits &extents = operand.digits[unsigned(axis)];
  if (extents.size() == 1)
    return {value};
  llvm::SmallVector<Number> digits;
  for (Value digit : splitDigits(c, extents, c.add(value.variable, value.constant)))
    digits.push_back({digit, 0});
  return digits;
}

Gather::UnitState Gather::prepare(Unit unit) {
  Value first = operand.outer == Axis::M ? place.firstM : place.firstN;
  Number outer{c.add(first, threadOuter), unit.outer};
  std::array<llvm::SmallVector<Number>, axisCount> digits;
  digits[unsigned(operand.outer)] = digitsOf(operand.outer, outer);
  digits[unsigned(Axis::Z)] = digitsOf(Axis::Z, {place.z, 0});
  // The cursor holds the other digits of k.
  auto &k = digits[unsigned(Axis::K)];
  k.resize(kDigits().size());
  if (uniform)
    k.back() = {threadK, unit.k};

  UnitState state;
  Value offset; // elements, i64
  int64_t constant = 0;
  for (const Coordinate &at : operand.coordinates) {
    Value position;
    int64_t positionConstant = at.constant;
    for (const Term &t : at.terms) {
      Number digit = digits[unsigned(t.axis)][t.digit];
      positionConstant += t.coefficient * digit.constant;
      if (!digit.variable)
        continue;
      Value term = c.mul(digit.variable, t.coefficient);
      position = position ? c.add(position, term) : term;
    }
    bool linear = at.divisor == 1;
    if (linear && position) {
      Value moved = c.mul(c.wide(position), at.stride);
      offset = offset ? c.add(offset, moved) : moved;
    }
    if (linear)
      constant += positionConstant * at.stride;
    bool needed = at.checked || !linear;
    state.positions.push_back(!needed    ? Value()
                              : position ? c.add(position, positionConstant)
                                         : c.i32(positionConstant));
  }
  state.pointer = offset ? c.at(base, c.mul(offset, bytes)) : base;
  state.bytes = constant * bytes;
  int64_t extent = problem.extent(operand.outer);
  if (extent % (operand.outer == Axis::M ? place.spanM : place.spanN) != 0)
    state.valid = c.below(c.add(outer.variable, outer.constant), extent);
  state.valid = c.both(state.valid, active);
  return state;
}

//===-- The cursor --------------------------------------------------------------------------===//

Values Gather::cursor(Value kTile) {
  Value k = c.mul(kTile, tileK);
  return splitDigits(c, kDigits(), uniform ? k : c.add(k, threadK));
}

Values Gather::advance(ValueRange cursor) { return addToDigits(c, kDigits(), cursor, tileK); }

//===-- Addresses ---------------------------------------------------------------------------------===//

llvm::SmallVector<Gather::Address> Gather::addresses(ValueRange cursor) {
  bool kTail = problem.k() % tileK != 0;
  llvm::SmallDenseMap<int, Values> moved; // keyed by the unit's k
  llvm::SmallVector<Address> result;
  for (auto [unit, state] : llvm::zip_equal(unitList, states)) {
    Values &k = moved[uniform ? 0 : unit.k];
    if (k.empty())
      k = uniform ? Values(cursor.begin(), cursor.end()) : addToDigits(c, kDigits(), cursor, unit.k);
    Value valid = state.valid, offset;
    if (kTail)
      valid = c.both(valid,
                     uniform ? c.below(c.add(c.add(k[0], threadK), unit.k), problem.k()) : c.below(k[0], kDigits()[0]));
    auto move = [&](Value elements) { offset = offset ? c.add(offset, elements) : elements; };
    for (auto [at, known] : llvm::zip_equal(operand.coordinates, state.positions)) {
      Value position = known;
      for (const Term &t : at.terms) {
        if (t.axis != Axis::K)
          continue;
        Value step = c.mul(k[t.digit], t.coefficient);
        if (at.divisor == 1)
          move(c.mul(c.wide(step), at.stride));
        if (known)
          position = c.add(position, step);
      }
      if (!known)
        continue;
      if (at.divisor != 1) {
        // As an unsigned number a negative position is a large one, and so is its quotient.
        Value quotient = c.div(position, at.divisor);
        if (at.checked)
          valid = c.both(valid, c.compare(arith::CmpIPredicate::eq, c.mul(quotient, at.divisor), position));
        move(c.mul(c.wide(quotient), at.stride));
        position = quotient;
      }
      if (at.checked)
        valid = c.both(valid, c.below(position, at.extent));
    }
    Value pointer = offset ? c.at(state.pointer, c.mul(offset, bytes)) : state.pointer;
    result.push_back({c.at(pointer, state.bytes), valid});
  }
  return result;
}

Values Gather::load(ValueRange cursor) {
  Values result;
  Type type = unitType();
  for (Address address : addresses(cursor)) {
    // The buffer's first unit is read in place of what is outside: so there is no branch, and loads do not
    // wait for each other.
    Value pointer = c.select(address.valid, address.pointer, base);
    Value bits = c.load(type, pointer, operand.vector * bytes);
    result.push_back(address.valid ? c.select(address.valid, bits, c.zero(type)) : bits);
  }
  return result;
}
