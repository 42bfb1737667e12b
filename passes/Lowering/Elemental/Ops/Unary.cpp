//===- Unary.cpp - elements of elementwise functions of one operand -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

/// y = f(x), computed in the register type and rounded once.
template <typename OpT, typename F>
static Value unary(OpT op, ArrayRef<Index> index, ElementEmitter &e, F f) {
  Value x = e.operand(op, 0, index);
  return e.round(f(x), graph::elementOf(op.getResult()));
}
/// Does the same for functions whose results are exact in the element type.
template <typename OpT, typename F>
static Value exactUnary(OpT op, ArrayRef<Index> index, ElementEmitter &e, F f) {
  return f(e.operand(op, 0, index));
}
static bool isUnsigned(Operation *op) { return graph::elementOf(op->getOperand(0)).isUnsignedInteger(); }

static Value emit(graph::AbsOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return exactUnary(op, index, e, [&](Value x) -> Value {
    if (isa<FloatType>(x.getType()))
      return e.abs(x);
    return isUnsigned(op) ? x : e.max(x, e.neg(x));
  });
}
static Value emit(graph::NegOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return exactUnary(op, index, e, [&](Value x) { return e.neg(x); });
}
static Value emit(graph::SignOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return exactUnary(op, index, e, [&](Value x) -> Value {
    Type type = x.getType();
    Value zero = e.constant(type, 0), one = e.constant(type, 1), minusOne = e.constant(type, -1);
    if (isa<FloatType>(type)) { // zeros and NaN are returned as they are
      Value negative = e.less(x, zero);
      Value positive = e.compare(arith::CmpFPredicate::OGT, x, zero);
      return e.select(positive, one, e.select(negative, minusOne, x));
    }
    auto greater = isUnsigned(op) ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
    Value positive = e.compare(greater, x, zero);
    Value other = zero;
    if (!isUnsigned(op))
      other = e.select(e.compare(arith::CmpIPredicate::slt, x, zero), minusOne, zero);
    return e.select(positive, one, other);
  });
}
static Value emit(graph::ReluOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return exactUnary(op, index, e, [&](Value x) -> Value {
    Value zero = e.constant(x.getType(), 0);
    if (isa<FloatType>(x.getType())) { // NaN stays NaN; the sign of a zero does not matter
      Value exact = e.unrounded(x);
      Value y = e.max(exact, zero);
      return exact == x ? y : e.round(y, graph::elementOf(op.getY()));
    }
    return isUnsigned(op) ? x : e.max(x, zero);
  });
}
static Value emit(graph::ClipOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  double low = op.getMin().convertToDouble(), high = op.getMax().convertToDouble();
  Type element = graph::elementOf(op.getY());
  return exactUnary(op, index, e, [&](Value x) -> Value {
    Type type = x.getType();
    if (isa<FloatType>(type)) {
      // The bounds are numbers of the element type.
      auto bound = [&](double v) { return e.round(e.constant(type, v), element); };
      if (!std::isinf(low) || low > 0)
        x = e.max(x, bound(low));
      if (!std::isinf(high) || high < 0)
        x = e.min(x, bound(high));
      return x;
    }
    // Bounds beyond the integers of this width have no effect; a fractional bound lets the integers inside it through.
    unsigned width = type.getIntOrFloatBitWidth();
    bool isUnsignedType = isUnsigned(op);
    double least = isUnsignedType ? 0.0 : -std::ldexp(1.0, width - 1);
    double greatest = std::ldexp(1.0, isUnsignedType ? width : width - 1);
    auto integer = [&](double v) { return e.constantInt(type, v >= 0 ? int64_t(uint64_t(v)) : int64_t(v)); };
    if (low > least) {
      Value c = integer(std::min(std::ceil(low), std::nextafter(greatest, 0)));
      x = e.max(x, c, isUnsignedType);
    }
    if (high < greatest - 1) {
      Value c = integer(std::max(std::floor(high), least));
      x = e.min(x, c, isUnsignedType);
    }
    return x;
  });
}
static Value emit(graph::NotOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return exactUnary(op, index, e, [&](Value x) { return e.opposite(x); });
}

static Value emit(graph::IsNaNOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return exactUnary(op, index, e, [&](Value x) { return e.isNaN(x); });
}
static Value emit(graph::IsNonFiniteOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  // This is not (|x| < inf), so it is also true of NaN.
  return exactUnary(op, index, e, [&](Value x) -> Value {
    Value infinity = e.constant(x.getType(), std::numeric_limits<double>::infinity());
    return e.compare(arith::CmpFPredicate::UGE, e.abs(x), infinity);
  });
}

// The math dialect has these functions, and passes/Lowering/MathApprox gives them code.
#define MATH(OP, MATHOP)                                                                                               \
  static Value emit(graph::OP op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {                                \
    return unary(op, index, e, [&](Value x) -> Value { return e.create<math::MATHOP>(x); });                           \
  }
MATH(FloorOp, FloorOp)
MATH(CeilOp, CeilOp)
MATH(RoundOp, RoundEvenOp)
MATH(ExpOp, ExpOp)
MATH(LogOp, LogOp)
MATH(SqrtOp, SqrtOp)
MATH(SinOp, SinOp)
MATH(CosOp, CosOp)
MATH(TanOp, TanOp)
MATH(AsinOp, AsinOp)
MATH(AcosOp, AcosOp)
MATH(AtanOp, AtanOp)
MATH(SinhOp, SinhOp)
MATH(CoshOp, CoshOp)
MATH(AsinhOp, AsinhOp)
MATH(AcoshOp, AcoshOp)
MATH(AtanhOp, AtanhOp)
MATH(ErfOp, ErfOp)
MATH(TanhOp, TanhOp)
#undef MATH

static Value emit(graph::RsqrtOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return unary(op, index, e, [&](Value x) { return e.div(1, e.sqrt(x)); });
}
static Value emit(graph::ReciprocalOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  return unary(op, index, e, [&](Value x) { return e.div(1, x); });
}

#define ATTACH(OP) MPC_ATTACH_ELEMENTAL(context, graph::OP)
#define ATTACH_SHORT(OP) MPC_ATTACH_ELEMENTAL_OF(context, graph::OP, ElementCost::Short)
void mpc::attachUnaryModels(MLIRContext *context) {
  ATTACH(AbsOp), ATTACH_SHORT(NegOp), ATTACH(SignOp), ATTACH_SHORT(ReluOp), ATTACH(ClipOp), ATTACH(NotOp);
  ATTACH(IsNaNOp), ATTACH(IsNonFiniteOp);
  ATTACH(FloorOp), ATTACH(CeilOp), ATTACH(RoundOp), ATTACH(ExpOp), ATTACH(LogOp), ATTACH(SqrtOp);
  ATTACH(SinOp), ATTACH(CosOp), ATTACH(TanOp), ATTACH(AsinOp), ATTACH(AcosOp), ATTACH(AtanOp);
  ATTACH(SinhOp), ATTACH(CoshOp), ATTACH(AsinhOp), ATTACH(AcoshOp), ATTACH(AtanhOp), ATTACH(ErfOp), ATTACH(TanhOp);
  ATTACH(RsqrtOp), ATTACH(ReciprocalOp);
}
