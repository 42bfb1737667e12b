//===- Random.cpp - random numbers and dropout --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Normal.h"
#include "passes/Lowering/Elemental/Dropout.h"
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section
/// 3.3). Counter and key consist of 32-bit words; each of the ten rounds has two multiplications.
static std::array<Value, 4> philox(std::array<Value, 4> counter, std::array<Value, 2> key, ElementEmitter &e) {
  constexpr uint32_t m0 = 0xD2511F53, m1 = 0xCD9E8D57, w0 = 0x9E3779B9, w1 = 0xBB67AE85;
  Type i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  auto product = [&](uint32_t m, Value x) -> std::pair<Value, Value> { // high, low
    Value wide = e.mul(e.zeroExtend(i64, x), e.constantInt(i64, m));
    Value high = e.truncate(i32, e.shiftRight(wide, 32));
    return {high, e.truncate(i32, wide)};
  };
  for (int round = 0; round < 10; ++round) {
    auto [high0, low0] = product(m0, counter[0]);
    auto [high1, low1] = product(m1, counter[2]);
    counter = {e.bitXor(e.bitXor(high1, counter[1]), key[0]), low1, e.bitXor(e.bitXor(high0, counter[3]), key[1]),
               low0};
    key = {e.add(key[0], e.constantInt(i32, w0)), e.add(key[1], e.constantInt(i32, w1))};
  }
  return counter;
}

namespace {
/// The four words of a block of random numbers, and the number of the word that an element uses.
struct Drawn {
  std::array<Value, 4> words;
  Index word;

  /// Word `choices[word]`.
  Value pick(ElementEmitter &e, std::array<int, 4> choices) const {
    if (word.isConstant())
      return words[choices[word.constant()]];
    Value which = e.materialize(word), picked = words[choices[0]];
    for (int64_t w = 1; w < 4; ++w)
      if (choices[w] != choices[w - 1])
        picked = e.select(e.compare(arith::CmpIPredicate::sge, which, e.i64(w)), words[choices[w]], picked);
    return picked;
  }
};
} // namespace

/// Element i draws from the block with counter (i/4, salt, step low, step high) and key `seed`; it uses word
/// i%4, or words that depend on i%4. `seed` and `step` are numbers of operands of op.
static Drawn draw(Operation *op, unsigned seed, unsigned step, int64_t salt, Index linear, ElementEmitter &e) {
  Type i32 = e.b.getI32Type();
  auto halves = [&](unsigned operand) -> std::pair<Value, Value> { // low, high
    Value v = e.operand(op, operand, IndexVector(graph::typeOf(op->getOperand(operand)).getRank(), Index(0)));
    Value high = e.shiftRight(v, 32);
    return {e.truncate(i32, v), e.truncate(i32, high)};
  };
  auto [seedLow, seedHigh] = halves(seed);
  auto [stepLow, stepHigh] = halves(step);

  Index block = e.floorDiv(linear, 4);
  Drawn drawn;
  drawn.word = e.mod(linear, 4);
  // When the nest unrolls by four, neighbours of one block find its words in the memo, whose key is the
  // block's counter.
  IndexVector blockKey{block, Index(0)};
  auto memoised = [&](int64_t w) {
    blockKey[1] = Index(w);
    return e.recall(op->getOperand(seed), blockKey, salt);
  };
  if (memoised(0)) {
    for (int64_t w = 0; w < 4; ++w)
      drawn.words[w] = memoised(w);
    return drawn;
  }
  Value counter = e.truncate(i32, e.materialize(block));
  drawn.words = philox({counter, e.constantInt(i32, salt), stepLow, stepHigh}, {seedLow, seedHigh}, e);
  for (int64_t w = 0; w < 4; ++w) {
    blockKey[1] = Index(w);
    e.remember(op->getOperand(seed), blockKey, salt, drawn.words[w]);
  }
  return drawn;
}

//===-- Random numbers ------------------------------------------------------------------===//

namespace {
/// The operations that the formulas of Normal.h use, as code.
struct Code {
  using Real = Value;
  using Word = Value;
  ElementEmitter &e;
  Type i32 = e.b.getI32Type(), f64 = e.b.getF64Type();

  Word word(uint32_t n) { return e.constantInt(i32, int32_t(n)); }
  Real real(double x) { return e.constant(f64, x); }
  Word add(Word a, Word b) { return e.add(a, b); }
  Word sub(Word a, Word b) { return e.sub(a, b); }
  Word shiftLeft(Word a, Word b) { return e.shiftLeft(a, b); }
  Word shiftRight(Word a, Word b) { return e.shiftRight(a, b); }
  Word bitAnd(Word a, Word b) { return e.bitAnd(a, b); }
  Real plus(Real a, Real b) { return e.add(a, b); }
  Real minus(Real a, Real b) { return e.sub(a, b); }
  Real times(Real a, Real b) { return e.mul(a, b); }
  Real over(Real a, Real b) { return e.div(a, b); }
  Real root(Real a) { return e.sqrt(a); }
  Real fromUnsigned(Word w) { return e.toFloat(f64, w, /*isUnsigned=*/true); }
  Real fromSigned(Word w) { return e.toFloat(f64, w); }
  Word exponent(Real x) { return sub(e.truncate(i32, e.shiftRight(e.bits(x), 52)), word(1023)); }
  Real mantissa(Real x) {
    Value digits = e.bitAnd(e.bits(x), (int64_t(1) << 52) - 1);
    return e.bitcast(f64, e.bitOr(digits, int64_t(1023) << 52));
  }
  Value isOver(Real x, Real y) { return e.compare(arith::CmpFPredicate::OGT, x, y); }
  Value isZero(Word w) { return e.equal(w, word(0)); }
  Value choose(Value condition, Value x, Value y) { return e.select(condition, x, y); }
};
} // namespace

static Value emit(graph::RandomOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type element = graph::elementOf(op.getY()), type = ElementEmitter::registerType(element);
  Drawn drawn = draw(op, 0, 1, op.getSalt(), e.linearize(index, graph::shapeOf(op.getY())), e);
  Type i32 = e.b.getI32Type();
  if (op.getDistribution() == graph::Distribution::uniform) {
    int64_t digits = element.isF64() ? 32 : element.isF32() ? 24 : element.isF16() ? 11 : 8;
    Value u = drawn.pick(e, {0, 1, 2, 3});
    // A narrower number is not negative when it is read as a signed one, and vector units can convert signed numbers.
    if (digits < 32)
      u = e.toFloat(type, e.shiftRight(u, 32 - digits));
    else
      u = e.toFloat(type, u, /*isUnsigned=*/true);
    return e.round(e.mul(u, std::ldexp(1.0, -int(digits))), element);
  }
  // The words of a block make two pairs of normal numbers: elements 0 and 1 are the cosine and the sine of
  // the first pair.
  Code code{e};
  Value odd = code.word(0);
  if (drawn.word.isConstant())
    odd = code.word(uint32_t(drawn.word.constant() % 2));
  else
    odd = e.truncate(i32, e.materialize(e.mod(drawn.word, 2)));
  Value second = drawn.pick(e, {1, 1, 3, 3}), first = drawn.pick(e, {0, 0, 2, 2});
  Value z = graph::standardNormal(code, first, second, odd);
  return element.isF64() ? z : element.isF32() ? e.truncate(type, z) : e.round(z, element);
}

//===-- Dropout -------------------------------------------------------------------------===//

Value mpc::isKept(Operation *op, unsigned seed, unsigned step, int64_t salt, double ratio, Index linear,
                  ElementEmitter &e) {
  Value u = draw(op, seed, step, salt, linear, e).pick(e, {0, 1, 2, 3});
  // u/2^32 >= ratio, for integers u: u >= ceil(ratio * 2^32).
  double threshold = std::ceil(std::ldexp(ratio, 32));
  if (threshold > double(UINT32_MAX))
    return e.constant(e.b.getI1Type(), 0);
  return e.compare(arith::CmpIPredicate::uge, u, e.constantInt(e.b.getI32Type(), int64_t(threshold)));
}

static Value emit(graph::DropoutOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type element = graph::elementOf(op.getY());
  Value x = e.operand(op, 0, index);
  double ratio = op.getRatio().convertToDouble();
  if (ratio <= 0)
    return x;
  if (ratio >= 1)
    return e.constant(x.getType(), 0);

  IndexVector inMask(index);
  for (int64_t axis : op.getShared())
    inMask[axis] = Index(0);
  Value keep = isKept(op, 1, 2, op.getSalt(), ratio, e.linearize(inMask, op.getMaskShape()), e);
  Value scaled = e.round(e.mul(x, 1 / (1 - ratio)), element);
  return e.select(keep, scaled, e.constant(x.getType(), 0));
}

void mpc::attachRandomModels(MLIRContext *context) {
  MPC_ATTACH_ELEMENTAL(context, graph::RandomOp);
  MPC_ATTACH_ELEMENTAL(context, graph::DropoutOp);
}
