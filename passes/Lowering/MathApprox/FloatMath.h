//===- FloatMath.h - floating-point arithmetic that reads like the formula ----------===//
#ifndef MPC_LOWERING_MATHAPPROX_FLOATMATH_H
#define MPC_LOWERING_MATHAPPROX_FLOATMATH_H
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mpc {

/// Builds arith and math ops on scalars of `type` (f32 or f64) and on integers of its width.
struct FloatMath {
  using Value = mlir::Value;
  mlir::ImplicitLocOpBuilder &b;
  mlir::FloatType type;
  mlir::IntegerType integer = b.getIntegerType(type.getWidth());

  Value c(double v) { return mlir::arith::ConstantOp::create(b, b.getFloatAttr(type, v)); }
  Value i(int64_t v) { return mlir::arith::ConstantOp::create(b, b.getIntegerAttr(integer, v)); }
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, x, y); }
  Value neg(Value x) { return mlir::arith::NegFOp::create(b, x); }
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, x); }
  Value sqrt(Value x) { return mlir::math::SqrtOp::create(b, x); }
  /// x*y + z, rounded once.
  Value fma(Value x, Value y, Value z) { return mlir::math::FmaOp::create(b, x, y, z); }
  Value withSignOf(Value magnitude, Value x) { return mlir::math::CopySignOp::create(b, magnitude, x); }
  Value bits(Value x) { return mlir::arith::BitcastOp::create(b, integer, x); }
  Value fromBits(Value x) { return mlir::arith::BitcastOp::create(b, type, x); }
  Value select(Value condition, Value x, Value y) { return mlir::arith::SelectOp::create(b, condition, x, y); }
  Value compare(mlir::arith::CmpFPredicate p, Value x, Value y) { return mlir::arith::CmpFOp::create(b, p, x, y); }
  Value less(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value both(Value p, Value q) { return mlir::arith::AndIOp::create(b, p, q); }
  /// Whether the integer has at least one of the mask's bits.
  Value anyBit(Value bits, int64_t mask) {
    Value masked = mlir::arith::AndIOp::create(b, bits, i(mask));
    return mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::ne, masked, i(0));
  }
  /// x, clamped to [low, high]; NaN stays NaN.
  Value clamp(Value x, double low, double high) {
    x = select(less(x, c(low)), c(low), x);
    return select(less(c(high), x), c(high), x);
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
    return fromBits(mlir::arith::ShLIOp::create(b, mlir::arith::AddIOp::create(b, n, i(bias)), i(fraction)));
  }
};

} // namespace mpc
#endif
