//===- FloatMath.h - approximations of functions of one float type ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_MATHAPPROX_FLOATMATH_H
#define MPC_LOWERING_MATHAPPROX_FLOATMATH_H
#include "passes/Lowering/Scalar/ScalarBuilder.h"

namespace mpc {

/// Builds arithmetic on scalars of `type` (f32 or f64) and on integers of its width.
struct FloatMath : ScalarBuilder {
  FloatMath(mlir::ImplicitLocOpBuilder &b, mlir::FloatType type)
      : ScalarBuilder(b), type(type), integer(b.getIntegerType(type.getWidth())) {}

  mlir::FloatType type;
  mlir::IntegerType integer;

  Value c(double v) { return constant(type, v); }
  Value i(int64_t v) { return constantInt(integer, v); }
  Value fromBits(Value x) { return bitcast(type, x); }
  using ScalarBuilder::select;
  Value select(Value condition, Number auto x, Number auto y) { return select(condition, x, c(double(y))); }
  /// Whether the integer has at least one of the mask's bits.
  Value anyBit(Value bits, int64_t mask) { return isNotZero(bitAnd(bits, mask)); }
  /// x, clamped to [low, high]; NaN stays NaN.
  Value clamp(Value x, double low, double high) {
    Value least = c(low), greatest = c(high);
    x = select(less(x, least), least, x);
    return select(less(greatest, x), greatest, x);
  }
  /// c[0] + c[1] x + ..., by Horner's rule.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) {
    Value p = c(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      p = fma(p, x, c(coefficient));
    return p;
  }
  /// 2^n for an integer n in the range of normal numbers: -126 to 127 or -1022 to 1023.
  Value powerOfTwo(Value n) {
    int64_t fraction = type.getFPMantissaWidth() - 1; // the stored bits; sign and exponent take the others
    int64_t bias = (int64_t(1) << (type.getWidth() - fraction - 2)) - 1;
    return fromBits(shiftLeft(add(n, i(bias)), fraction));
  }
};

} // namespace mpc
#endif
