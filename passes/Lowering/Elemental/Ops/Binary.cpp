//===- Binary.cpp - elements of elementwise functions of several operands -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Elemental/Ops/Models.h"
#include <limits>

using namespace mlir;
using namespace mpc;

namespace {
struct Operands {
  Value a, b;
  Type element; ///< of the operands
  bool isFloat, isUnsigned;
};
} // namespace

template <typename OpT>
static Operands operandsOf(OpT op, ArrayRef<Index> index, ElementEmitter &e) {
  Type element = graph::elementOf(op->getOperand(0));
  return {e.broadcastOperand(op, 0, index), e.broadcastOperand(op, 1, index), element, isa<FloatType>(element),
          element.isUnsignedInteger()};
}

/// Defines an operation whose float result is rounded.
#define ARITH(OP, METHOD)                                                                                              \
  static Value emit(graph::OP op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {                                \
    Operands o = operandsOf(op, index, e);                                                                             \
    return e.round(e.METHOD(o.a, o.b), o.element);                                                                     \
  }
ARITH(AddOp, add)
ARITH(SubOp, sub)
ARITH(MulOp, mul)
#undef ARITH

/// Quotient and remainder toward zero; both are 0 for division by zero. Division by zero and the overflow of
/// min/-1 trap on x86, so both cases divide by 1 instead; for -1 the quotient is negated.
static std::pair<Value, Value> safeDivision(const Operands &o, ElementEmitter &e) {
  Type type = o.a.getType();
  Value zero = e.constantInt(type, 0), one = e.constantInt(type, 1);
  Value isZero = e.equal(o.b, zero);
  Value divisor = e.select(isZero, one, o.b);
  auto zeroForZero = [&](Value v) { return e.select(isZero, zero, v); };
  if (o.isUnsigned) // the remainder of a division by 1 is 0
    return {zeroForZero(e.div(o.a, divisor, /*isUnsigned=*/true)), e.rem(o.a, divisor, /*isUnsigned=*/true)};
  Value isMinusOne = e.equal(o.b, e.constantInt(type, -1));
  divisor = e.select(isMinusOne, one, divisor);
  Value quotient = e.div(o.a, divisor);
  quotient = e.select(isMinusOne, e.sub(zero, o.a), quotient);
  Value remainder = e.rem(o.a, divisor);
  return {zeroForZero(quotient), e.select(isMinusOne, zero, remainder)};
}
static Value emit(graph::DivOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  if (o.isFloat)
    return e.round(e.div(o.a, o.b), o.element);
  return safeDivision(o, e).first;
}
static Value emit(graph::ModOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  Value r = o.isFloat ? e.rem(o.a, o.b) : safeDivision(o, e).second;
  if (op.getFmod() || o.isUnsigned)
    return r;
  // The remainder takes b's sign: where r is not zero and the signs differ, b is added.
  Value zero = e.constant(r.getType(), 0), differ, isNotZero;
  if (o.isFloat) {
    isNotZero = e.compare(arith::CmpFPredicate::ONE, r, zero);
    Value negative = e.less(o.b, zero);
    differ = e.compare(arith::CmpIPredicate::ne, e.less(r, zero), negative);
  } else {
    isNotZero = e.isNotZero(r);
    differ = e.compare(arith::CmpIPredicate::slt, e.bitXor(r, o.b), zero);
  }
  Value moved = e.add(r, o.b);
  r = e.select(e.both(isNotZero, differ), moved, r);
  return e.round(r, o.element);
}

static Value emit(graph::MinOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  return e.min(o.a, o.b, o.isUnsigned);
}
static Value emit(graph::MaxOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  return e.max(o.a, o.b, o.isUnsigned);
}

/// a to the power of b modulo 2^width, by squaring; a negative power is 0 unless a is 1 or -1.
static Value integerPower(const Operands &o, ElementEmitter &e) {
  Type type = o.a.getType();
  Value zero = e.constantInt(type, 0), one = e.constantInt(type, 1), minusOne = e.constantInt(type, -1);
  auto squares =
      e.loop(type.getIntOrFloatBitWidth(), {one, o.a, o.b}, [&](Value, ValueRange carried) -> llvm::SmallVector<Value> {
        Value result = carried[0], base = carried[1], exponent = carried[2];
        Value bit = e.isNotZero(e.bitAnd(exponent, one));
        return {e.select(bit, e.mul(result, base), result), e.mul(base, base), e.shiftRight(exponent, one)};
      });
  if (o.isUnsigned)
    return squares[0];
  Value odd = e.isNotZero(e.bitAnd(o.b, one));
  Value ofMinusOne = e.select(odd, minusOne, one), notOfOne = e.select(e.equal(o.a, minusOne), ofMinusOne, zero);
  Value inverse = e.select(e.equal(o.a, one), one, notOfOne);
  return e.select(e.compare(arith::CmpIPredicate::slt, o.b, zero), inverse, squares[0]);
}

/// Powers that arithmetic computes faster than pow, and no less exactly.
static bool isSimplePower(double p) { return p == 1 || p == 2 || p == -1 || p == 0.5 || p == -0.5; }
static Value simplePower(Value x, double p, ElementEmitter &e) {
  if (p == 1)
    return x;
  if (p == 2)
    return e.mul(x, x);
  Value y = x;
  if (p != -1) { // pow gives 0 for -0 and infinity for -infinity, where sqrt gives -0 and NaN
    Value zero = e.constant(x.getType(), 0),
          infinity = e.constant(x.getType(), std::numeric_limits<double>::infinity());
    Value isInfinite = e.equal(e.abs(x), infinity);
    y = e.select(isInfinite, infinity, e.sqrt(e.add(x, zero)));
  }
  return p < 0 ? e.div(1, y) : y;
}

static Value emit(graph::PReluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  Value zero = e.constant(o.a.getType(), 0);
  if (!o.isFloat) {
    auto greater = o.isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
    Value scaled = e.mul(o.a, o.b);
    return e.select(e.compare(greater, o.a, zero), o.a, scaled);
  }
  Value positive = e.compare(arith::CmpFPredicate::OGT, o.a, zero);
  return e.round(e.select(positive, o.a, e.mul(o.a, o.b)), o.element);
}

static Value emit(graph::PowOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  if (std::optional<double> exponent = graph::splatNumber(op.getRhs()); exponent && isSimplePower(*exponent))
    return e.round(simplePower(e.broadcastOperand(op, 0, index), *exponent, e), graph::elementOf(op.getResult()));
  Operands o = operandsOf(op, index, e);
  if (o.isFloat)
    return e.round(e.create<math::PowFOp>(o.a, o.b), o.element);
  return integerPower(o, e);
}

#define LOGIC(OP, METHOD)                                                                                              \
  static Value emit(graph::OP op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {                                \
    Operands o = operandsOf(op, index, e);                                                                             \
    return e.METHOD(o.a, o.b);                                                                                         \
  }
LOGIC(AndOp, bitAnd)
LOGIC(OrOp, bitOr)
LOGIC(XorOp, bitXor)
#undef LOGIC

static Value emit(graph::CompareOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  bool isUnsigned = o.isUnsigned || o.element.isInteger(1);
  F f = F::OEQ;
  I i = I::eq;
  switch (op.getPredicate()) {
  case graph::Predicate::eq:
    f = F::OEQ, i = I::eq;
    break;
  case graph::Predicate::ne:
    f = F::UNE, i = I::ne;
    break;
  case graph::Predicate::lt:
    f = F::OLT, i = isUnsigned ? I::ult : I::slt;
    break;
  case graph::Predicate::le:
    f = F::OLE, i = isUnsigned ? I::ule : I::sle;
    break;
  case graph::Predicate::gt:
    f = F::OGT, i = isUnsigned ? I::ugt : I::sgt;
    break;
  case graph::Predicate::ge:
    f = F::OGE, i = isUnsigned ? I::uge : I::sge;
    break;
  }
  return o.isFloat ? e.compare(f, o.a, o.b) : e.compare(i, o.a, o.b);
}

static Value emit(graph::SelectOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Value condition = e.broadcastOperand(op, 0, index);
  Value a = e.broadcastOperand(op, 1, index), b = e.broadcastOperand(op, 2, index);
  return e.select(condition, a, b);
}

#define ATTACH(OP) MPC_ATTACH_ELEMENTAL(context, graph::OP)
#define ATTACH_SHORT(OP) MPC_ATTACH_ELEMENTAL_OF(context, graph::OP, ElementCost::Short)
void mpc::attachBinaryModels(MLIRContext *context) {
  ATTACH_SHORT(AddOp), ATTACH_SHORT(SubOp), ATTACH_SHORT(MulOp), ATTACH(DivOp), ATTACH(ModOp), ATTACH(PowOp);
  ATTACH(PReluOp), ATTACH_SHORT(MinOp), ATTACH_SHORT(MaxOp), ATTACH(AndOp), ATTACH(OrOp), ATTACH(XorOp);
  ATTACH_SHORT(CompareOp), ATTACH_SHORT(SelectOp);
}
