//===- Binary.cpp - elements of elementwise functions of several operands -----===//
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

/// Defines the float and the integer form of one operation; the float result is rounded.
#define ARITH(OP, FLOAT, INT)                                                                                      \
  static Value emit(graph::OP op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {                           \
    Operands o = operandsOf(op, index, e);                                                                        \
    if (o.isFloat)                                                                                                \
      return e.round(arith::FLOAT::create(e.b, o.a, o.b), o.element);                                             \
    return arith::INT::create(e.b, o.a, o.b);                                                                     \
  }
ARITH(AddOp, AddFOp, AddIOp)
ARITH(SubOp, SubFOp, SubIOp)
ARITH(MulOp, MulFOp, MulIOp)
#undef ARITH

/// Quotient and remainder toward zero; both are 0 for division by zero. Division by zero and the overflow of
/// min/-1 trap on x86, so both cases divide by 1 instead; for -1 the quotient is negated.
static std::pair<Value, Value> safeDivision(const Operands &o, ElementEmitter &e) {
  Type type = o.a.getType();
  Value zero = e.constantInt(type, 0), one = e.constantInt(type, 1);
  Value isZero = arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, o.b, zero);
  Value divisor = arith::SelectOp::create(e.b, isZero, one, o.b);
  auto zeroForZero = [&](Value v) -> Value { return arith::SelectOp::create(e.b, isZero, zero, v); };
  if (o.isUnsigned) // the remainder of a division by 1 is 0
    return {zeroForZero(arith::DivUIOp::create(e.b, o.a, divisor)), arith::RemUIOp::create(e.b, o.a, divisor)};
  Value isMinusOne = arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, o.b, e.constantInt(type, -1));
  divisor = arith::SelectOp::create(e.b, isMinusOne, one, divisor);
  Value quotient = arith::DivSIOp::create(e.b, o.a, divisor);
  quotient = arith::SelectOp::create(e.b, isMinusOne, arith::SubIOp::create(e.b, zero, o.a), quotient);
  Value remainder = arith::RemSIOp::create(e.b, o.a, divisor);
  return {zeroForZero(quotient), arith::SelectOp::create(e.b, isMinusOne, zero, remainder)};
}
static Value emit(graph::DivOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  if (o.isFloat)
    return e.round(arith::DivFOp::create(e.b, o.a, o.b), o.element);
  return safeDivision(o, e).first;
}
static Value emit(graph::ModOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  Value r = o.isFloat ? Value(arith::RemFOp::create(e.b, o.a, o.b)) : safeDivision(o, e).second;
  if (op.getFmod() || o.isUnsigned)
    return r;
  // The remainder takes b's sign: where r is not zero and the signs differ, b is added.
  Value zero = e.constant(r.getType(), 0), differ, isNotZero;
  if (o.isFloat) {
    isNotZero = arith::CmpFOp::create(e.b, arith::CmpFPredicate::ONE, r, zero);
    differ = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne,
                                   arith::CmpFOp::create(e.b, arith::CmpFPredicate::OLT, r, zero),
                                   arith::CmpFOp::create(e.b, arith::CmpFPredicate::OLT, o.b, zero));
  } else {
    isNotZero = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, r, zero);
    differ = arith::CmpIOp::create(e.b, arith::CmpIPredicate::slt, arith::XOrIOp::create(e.b, r, o.b), zero);
  }
  Value moved = o.isFloat ? Value(arith::AddFOp::create(e.b, r, o.b)) : arith::AddIOp::create(e.b, r, o.b);
  r = arith::SelectOp::create(e.b, arith::AndIOp::create(e.b, isNotZero, differ), moved, r);
  return e.round(r, o.element);
}

static Value emit(graph::MinOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  if (o.isFloat)
    return arith::MinimumFOp::create(e.b, o.a, o.b, arith::FastMathFlags::nsz);
  return o.isUnsigned ? Value(arith::MinUIOp::create(e.b, o.a, o.b)) : arith::MinSIOp::create(e.b, o.a, o.b);
}
static Value emit(graph::MaxOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  if (o.isFloat)
    return arith::MaximumFOp::create(e.b, o.a, o.b, arith::FastMathFlags::nsz);
  return o.isUnsigned ? Value(arith::MaxUIOp::create(e.b, o.a, o.b)) : arith::MaxSIOp::create(e.b, o.a, o.b);
}

/// a to the power of b modulo 2^width, by squaring; a negative power is 0 unless a is 1 or -1.
static Value integerPower(const Operands &o, ElementEmitter &e) {
  Type type = o.a.getType();
  Value zero = e.constantInt(type, 0), one = e.constantInt(type, 1), minusOne = e.constantInt(type, -1);
  auto equal = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, x, y); };
  auto select = [&](Value c, Value x, Value y) -> Value { return arith::SelectOp::create(e.b, c, x, y); };
  auto squares = e.loop(type.getIntOrFloatBitWidth(), {one, o.a, o.b}, [&](Value, ValueRange carried) -> llvm::SmallVector<Value> {
    Value result = carried[0], base = carried[1], exponent = carried[2];
    Value bit = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, arith::AndIOp::create(e.b, exponent, one), zero);
    return {select(bit, arith::MulIOp::create(e.b, result, base), result), arith::MulIOp::create(e.b, base, base),
            arith::ShRUIOp::create(e.b, exponent, one)};
  });
  if (o.isUnsigned)
    return squares[0];
  Value odd = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, arith::AndIOp::create(e.b, o.b, one), zero);
  Value inverse = select(equal(o.a, one), one, select(equal(o.a, minusOne), select(odd, minusOne, one), zero));
  return select(arith::CmpIOp::create(e.b, arith::CmpIPredicate::slt, o.b, zero), inverse, squares[0]);
}

/// Powers that arithmetic computes faster than pow, and no less exactly.
static bool isSimplePower(double p) { return p == 1 || p == 2 || p == -1 || p == 0.5 || p == -0.5; }
static Value simplePower(Value x, double p, ElementEmitter &e) {
  if (p == 1)
    return x;
  if (p == 2)
    return arith::MulFOp::create(e.b, x, x);
  Value y = x;
  if (p != -1) { // pow gives 0 for -0 and infinity for -infinity, where sqrt gives -0 and NaN
    Value zero = e.constant(x.getType(), 0), infinity = e.constant(x.getType(), std::numeric_limits<double>::infinity());
    Value isInfinite = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, math::AbsFOp::create(e.b, x), infinity);
    y = arith::SelectOp::create(e.b, isInfinite, infinity, math::SqrtOp::create(e.b, arith::AddFOp::create(e.b, x, zero)));
  }
  return p < 0 ? Value(arith::DivFOp::create(e.b, e.constant(x.getType(), 1), y)) : y;
}

static Value emit(graph::PReluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  Value zero = e.constant(o.a.getType(), 0);
  if (!o.isFloat) {
    auto greater = o.isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
    return arith::SelectOp::create(e.b, arith::CmpIOp::create(e.b, greater, o.a, zero), o.a, arith::MulIOp::create(e.b, o.a, o.b));
  }
  Value positive = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OGT, o.a, zero);
  return e.round(arith::SelectOp::create(e.b, positive, o.a, arith::MulFOp::create(e.b, o.a, o.b)), o.element);
}

static Value emit(graph::PowOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  if (std::optional<double> exponent = graph::splatNumber(op.getRhs()); exponent && isSimplePower(*exponent))
    return e.round(simplePower(e.broadcastOperand(op, 0, index), *exponent, e), graph::elementOf(op.getResult()));
  Operands o = operandsOf(op, index, e);
  if (o.isFloat)
    return e.round(math::PowFOp::create(e.b, o.a, o.b), o.element);
  return integerPower(o, e);
}

#define LOGIC(OP, INT)                                                                                            \
  static Value emit(graph::OP op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {                           \
    Operands o = operandsOf(op, index, e);                                                                        \
    return arith::INT::create(e.b, o.a, o.b);                                                                     \
  }
LOGIC(AndOp, AndIOp)
LOGIC(OrOp, OrIOp)
LOGIC(XorOp, XOrIOp)
#undef LOGIC

static Value emit(graph::CompareOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Operands o = operandsOf(op, index, e);
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  bool isUnsigned = o.isUnsigned || o.element.isInteger(1);
  F f = F::OEQ;
  I i = I::eq;
  switch (op.getPredicate()) {
  case graph::Predicate::eq: f = F::OEQ, i = I::eq; break;
  case graph::Predicate::ne: f = F::UNE, i = I::ne; break;
  case graph::Predicate::lt: f = F::OLT, i = isUnsigned ? I::ult : I::slt; break;
  case graph::Predicate::le: f = F::OLE, i = isUnsigned ? I::ule : I::sle; break;
  case graph::Predicate::gt: f = F::OGT, i = isUnsigned ? I::ugt : I::sgt; break;
  case graph::Predicate::ge: f = F::OGE, i = isUnsigned ? I::uge : I::sge; break;
  }
  return o.isFloat ? Value(arith::CmpFOp::create(e.b, f, o.a, o.b)) : arith::CmpIOp::create(e.b, i, o.a, o.b);
}

static Value emit(graph::SelectOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Value condition = e.broadcastOperand(op, 0, index);
  Value a = e.broadcastOperand(op, 1, index), b = e.broadcastOperand(op, 2, index);
  return arith::SelectOp::create(e.b, condition, a, b);
}

#define ATTACH(OP) MPC_ATTACH_ELEMENTAL(context, graph::OP)
#define ATTACH_SHORT(OP) MPC_ATTACH_ELEMENTAL_OF(context, graph::OP, ElementCost::Short)
void mpc::attachBinaryModels(MLIRContext *context) {
  ATTACH_SHORT(AddOp), ATTACH_SHORT(SubOp), ATTACH_SHORT(MulOp), ATTACH(DivOp), ATTACH(ModOp), ATTACH(PowOp);
  ATTACH(PReluOp), ATTACH_SHORT(MinOp), ATTACH_SHORT(MaxOp), ATTACH(AndOp), ATTACH(OrOp), ATTACH(XorOp);
  ATTACH_SHORT(CompareOp), ATTACH_SHORT(SelectOp);
}
