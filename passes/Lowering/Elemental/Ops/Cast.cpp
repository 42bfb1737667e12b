//===- Cast.cpp - elements of conversions --------------------------------------===//
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

/// To a float type: one rounding. Integers of 32 and 64 bits do not fit into f32: on their way to bf16 they pass through
/// f64, from which `round` rounds once. (For f16 every integer that f32 would round is infinite anyway.)
static Value toFloat(Value x, Type from, Type to, ElementEmitter &e) {
  Type target = ElementEmitter::registerType(to);
  if (isa<FloatType>(from)) {
    if (graph::isLowPrecision(to))
      return from == to ? x : e.round(x, to);
    if (x.getType() == target)
      return x;
    if (x.getType().isF64())
      return arith::TruncFOp::create(e.b, target, x);
    return arith::ExtFOp::create(e.b, target, x);
  }
  bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  Type via = to.isBF16() && from.getIntOrFloatBitWidth() >= 32 ? e.b.getF64Type() : target;
  x = isUnsigned ? Value(arith::UIToFPOp::create(e.b, via, x)) : arith::SIToFPOp::create(e.b, via, x);
  return e.round(x, to);
}

/// Toward zero; beyond the range the nearest bound, NaN to 0.
static Value floatToInteger(Value x, Type to, ElementEmitter &e) {
  Type type = x.getType(), target = ElementEmitter::registerType(to);
  unsigned width = target.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  double least = isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1);
  double end = std::ldexp(1.0, isUnsigned ? width : width - 1);
  // Narrow integers go through i32, which the vector units convert to.
  bool narrow = width < 32;
  Type via = narrow ? Type(e.b.getI32Type()) : target;
  unsigned mantissa = type.isF64() ? 53 : 24;
  // The greatest number of the float type below `end`.
  double greatest = width < mantissa ? end - 1 : end - std::ldexp(1.0, int(isUnsigned ? width : width - 1) - int(mantissa));
  auto compare = [&](arith::CmpFPredicate p, Value a, Value b) { return arith::CmpFOp::create(e.b, p, a, b); };
  Value low = e.constant(type, least), high = e.constant(type, greatest);
  Value tooHigh = compare(arith::CmpFPredicate::OGE, x, e.constant(type, end));
  Value clamped = arith::SelectOp::create(e.b, compare(arith::CmpFPredicate::OGT, x, low), x, low);
  clamped = arith::SelectOp::create(e.b, compare(arith::CmpFPredicate::OLT, clamped, high), clamped, high);
  Value result = isUnsigned && !narrow ? Value(arith::FPToUIOp::create(e.b, via, clamped))
                                       : arith::FPToSIOp::create(e.b, via, clamped);
  if (narrow)
    result = arith::TruncIOp::create(e.b, target, result);
  Value top = e.constantInt(target, isUnsigned ? -1 : int64_t(uint64_t(-1) >> (65 - width)));
  result = arith::SelectOp::create(e.b, tooHigh, top, result);
  Value isNaN = compare(arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(e.b, isNaN, e.constantInt(target, 0), result);
}

static Value emit(graph::CastOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type from = graph::elementOf(op.getX()), to = graph::elementOf(op.getY());
  Value x = e.operand(op, 0, index);
  if (from == to)
    return x;
  if (isa<FloatType>(to))
    return toFloat(x, from, to, e);
  Type type = x.getType(), target = ElementEmitter::registerType(to);
  if (to.isInteger(1)) {
    Value zero = e.constant(type, 0);
    return isa<FloatType>(from) ? Value(arith::CmpFOp::create(e.b, arith::CmpFPredicate::UNE, x, zero))
                                : arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, x, zero);
  }
  if (isa<FloatType>(from))
    return floatToInteger(x, to, e);
  unsigned before = type.getIntOrFloatBitWidth(), after = target.getIntOrFloatBitWidth();
  if (before == after)
    return x;
  if (after < before)
    return arith::TruncIOp::create(e.b, target, x);
  bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  return isUnsigned ? Value(arith::ExtUIOp::create(e.b, target, x)) : arith::ExtSIOp::create(e.b, target, x);
}

void mpc::attachCastModels(MLIRContext *context) { MPC_ATTACH_ELEMENTAL(context, graph::CastOp); }
