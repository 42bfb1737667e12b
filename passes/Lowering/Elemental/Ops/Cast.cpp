//===- Cast.cpp - elements of conversions --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Elemental/Ops/Models.h"

using namespace mlir;
using namespace mpc;

/// Converts to a float type with one rounding. Integers of 32 and 64 bits do not fit into f32, so on their
/// way to bf16 they pass through f64, from which `round` rounds once. (For f16 every integer that f32 would
/// round is infinite anyway.)
static Value toFloat(Value x, Type from, Type to, ElementEmitter &e) {
  Type target = ElementEmitter::registerType(to);
  if (isa<FloatType>(from)) {
    if (graph::isLowPrecision(to) || graph::isFloat8(to))
      return from == to ? x : e.round(x, to);
    if (x.getType() == target)
      return x;
    if (x.getType().isF64())
      return e.truncate(target, x);
    return e.extend(target, x);
  }
  bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  Type via = to.isBF16() && from.getIntOrFloatBitWidth() >= 32 ? e.b.getF64Type() : target;
  return e.round(e.toFloat(via, x, isUnsigned), to);
}

/// Rounds toward zero, then takes the number modulo 2^width. Beyond i64 (for u64: beyond u64) the result is
/// the nearest bound, and NaN gives 0. The value is clamped first, because conversions are undefined beyond
/// their range.
static Value floatToInteger(Value x, Type to, ElementEmitter &e) {
  Type type = x.getType(), target = ElementEmitter::registerType(to), i64 = e.b.getI64Type();
  // Converts [-2^63, 2^63) to i64. The greatest number below 2^63 has 24 or 53 bits.
  auto convert = [&](Value v) -> Value {
    Value low = e.constant(type, -0x1p63), end = e.constant(type, 0x1p63);
    Value high = e.constant(type, type.isF64() ? 0x1p63 - 0x1p10 : 0x1p63 - 0x1p39);
    Value clamped = e.select(e.compare(arith::CmpFPredicate::OGT, v, low), v, low); // NaN: low
    clamped = e.select(e.less(clamped, high), clamped, high);
    Value result = e.create<arith::FPToSIOp>(i64, clamped);
    return e.select(e.compare(arith::CmpFPredicate::OGE, v, end), e.i64(INT64_MAX), result);
  };
  Value result = convert(x);
  if (to.isUnsignedInteger(64)) { // the upper half is moved down, converted and moved up again
    Value half = e.constant(type, 0x1p63), upper = e.sub(x, half);
    Value moved = e.add(convert(upper), e.i64(INT64_MIN));
    result = e.select(e.compare(arith::CmpFPredicate::OGE, x, half), moved, result);
  }
  result = e.select(e.isNaN(x), e.i64(0), result);
  return target == i64 ? result : e.truncate(target, result);
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
    return isa<FloatType>(from) ? e.compare(arith::CmpFPredicate::UNE, x, zero)
                                : e.compare(arith::CmpIPredicate::ne, x, zero);
  }
  if (isa<FloatType>(from))
    return floatToInteger(x, to, e);
  unsigned before = type.getIntOrFloatBitWidth(), after = target.getIntOrFloatBitWidth();
  if (before == after)
    return x;
  if (after < before)
    return e.truncate(target, x);
  bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  return e.extend(target, x, isUnsigned);
}

/// Registers hold floats of 16 bits in f32; so the bits are taken from, and put into, a number of the 16-bit
/// type itself.
static Value emit(graph::BitcastOp op, unsigned, ArrayRef<Index> index, ElementEmitter &e) {
  Type from = graph::elementOf(op.getX()), to = graph::elementOf(op.getY()), i32 = e.b.getI32Type(),
       f32 = e.b.getF32Type();
  Value x = e.operand(op, 0, index);
  if (from == to)
    return x;
  Type bits = e.b.getIntegerType(from.getIntOrFloatBitWidth());
  if (from.isBF16())
    x = e.truncate(bits, e.shiftRight(e.bits(x), 16));
  else if (from.isF16())
    x = e.bits(e.truncate(from, x));
  else if (isa<FloatType>(from))
    x = e.bits(x);
  if (to.isBF16())
    return e.bitcast(f32, e.shiftLeft(e.zeroExtend(i32, x), 16));
  if (to.isF16())
    return e.extend(f32, e.bitcast(to, x));
  return isa<FloatType>(to) ? e.bitcast(to, x) : x;
}

void mpc::attachCastModels(MLIRContext *context) {
  MPC_ATTACH_ELEMENTAL_OF(context, graph::CastOp, ElementCost::Short);
  MPC_ATTACH_ELEMENTAL(context, graph::BitcastOp);
}
