//===- Float8.cpp - conversions of 8-bit floats as integer arithmetic -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats: "FP8 Formats for Deep Learning", arXiv 2209.05433, table 1. f8E4M3FN is 1-4-3 with bias 7; the largest
// number is 448, there is no infinity, and NaN is all ones. f8E5M2 is 1-5-2 with bias 15; the largest number is 57344,
// and infinity and NaN are as in IEEE 754. The bits are those of PTX's cvt.rn.satfinite and cvt.rn.f16x2.
//
//===----------------------------------------------------------------------===//
#include "dialects/Kernel/IR/Kernel.h"
#include "passes/Lowering/MathApprox/FloatMath.h"
#include "passes/Lowering/MathApprox/MathApprox.h"

using namespace mlir;
using namespace mpc;

/// Magnitudes below the smallest normal number are multiples of `unit`: adding 2^23 units rounds to a
/// multiple and leaves its number, which is the code, in the low bits. Other magnitudes are rounded where
/// their bits are cut, and a carry into the exponent gives the right next code, too. Subnormal f32 numbers do
/// not matter in any step: they vanish in the sum.
static Value encode(FloatMath &f, Value x, FloatType format) {
  const llvm::fltSemantics &semantics = format.getFloatSemantics();
  int64_t mantissa = format.getFPMantissaWidth() - 1, least = llvm::APFloat::semanticsMinExponent(semantics);
  int64_t cut = 23 - mantissa;

  Value magnitude = f.abs(x), largest = f.c(llvm::APFloat::getLargest(semantics).convertToDouble());
  magnitude = f.select(f.less(magnitude, largest), magnitude, largest); // NaN becomes the largest, too
  Value bits = f.bits(magnitude), even = f.bitAnd(f.shiftRight(bits, cut), 1);
  Value half = f.i((int64_t(1) << (cut - 1)) - 1), rounded = f.add(f.add(bits, even), half);
  // The exponent field of 2^least is 127 + least in f32, and 1 in this format.
  Value bias = f.i((126 + least) << mantissa), normal = f.sub(f.shiftRight(rounded, cut), bias);
  double unit = std::ldexp(1.0, int(least - mantissa)), many = unit * 0x1p23;
  Value multiple = f.c(many), none = f.bits(multiple);
  Value subnormal = f.sub(f.bits(f.add(magnitude, multiple)), none);
  Value code = f.select(f.less(magnitude, std::ldexp(1.0, int(least))), subnormal, normal);
  code = f.bitOr(code, f.bitAnd(f.shiftRight(f.bits(x), 24), 0x80));
  Value notANumber = f.i(0x7f);
  code = f.select(f.isNaN(x), notANumber, code);
  return f.truncate(f.b.getI8Type(), code);
}

/// Decodes through f16, which can represent both formats: e5m2 is the upper half of an f16; e4m3 with its
/// exponent moved into place is too small by a factor of 2^8.
static Value decode(FloatMath &f, Value code, FloatType format) {
  auto widened = [&](Value bits) { return f.extend(f.type, f.bitcast(f.b.getF16Type(), bits)); };
  Value wide = f.zeroExtend(f.b.getI16Type(), code);
  if (isa<Float8E5M2Type>(format))
    return widened(f.shiftLeft(wide, 8));
  Value magnitude = f.bitAnd(wide, 0x7f);
  Value sign = f.shiftLeft(f.bitAnd(wide, 0x80), 8);
  Value x = f.mul(widened(f.bitOr(f.shiftLeft(magnitude, 7), sign)), 256);
  Value isNaN = f.equal(magnitude, 0x7f);
  return f.select(isNaN, std::numeric_limits<double>::quiet_NaN(), x);
}

void mpc::expandFloat8(Operation *root) {
  root->walk([](Operation *op) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    FloatMath f(b, b.getF32Type());
    Value y;
    if (auto encoded = dyn_cast<kernel::EncodeFloat8Op>(op))
      y = encode(f, encoded.getX(), cast<FloatType>(encoded.getFormat()));
    else if (auto decoded = dyn_cast<kernel::DecodeFloat8Op>(op))
      y = decode(f, decoded.getCode(), cast<FloatType>(decoded.getFormat()));
    else
      return;
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
  });
}
