//===- MathApprox.cpp - f32 math functions as arithmetic ---------------------------===//
//
// Range reductions are the classical ones (Cody and Waite, "Software Manual for the Elementary Functions", 1980; Muller, "Elementary
// Functions", 3rd ed. 2016, ch. 9 and 11); the polynomials are minimax fits made for this file by the Remez algorithm in 40 digits.
// Every step is an operation without branches; fused multiply-adds are explicit.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/MathApprox/MathApprox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace {

/// f32 arithmetic that reads like the formula.
struct F32 {
  ImplicitLocOpBuilder &b;
  Type f32 = b.getF32Type(), i32 = b.getI32Type();

  Value c(double v) { return arith::ConstantOp::create(b, b.getF32FloatAttr(float(v))); }
  Value i(int64_t v) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(v))); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value bits(Value x) { return arith::BitcastOp::create(b, i32, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, f32, x); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
  Value less(Value x, Value y) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y); }
  /// x within [low, high]; NaN stays NaN.
  Value clamp(Value x, double low, double high) {
    x = select(less(x, c(low)), c(low), x);
    return select(less(c(high), x), c(high), x);
  }
  /// c[0] + c[1] x + ..., by Horner.
  Value polynomial(Value x, std::initializer_list<double> coefficients) {
    auto it = std::rbegin(coefficients);
    Value p = c(*it++);
    for (; it != std::rend(coefficients); ++it)
      p = fma(p, x, c(*it));
    return p;
  }
  Value withSignOf(Value magnitude, Value x) { return math::CopySignOp::create(b, magnitude, x); }
};

/// x = n ln2 + r, |r| <= ln2/2 (and a little): n as integer, e^r - 1.
struct ExpParts {
  Value n, expm1;
};

} // namespace

/// Adding 1.5*2^23 rounds to an integer and leaves it in the low bits; unlike a conversion, it is defined for NaN.
static ExpParts reduceExp(F32 &f, Value x) {
  constexpr double magic = 12582912.0, log2e = 1.4426950408889634;
  constexpr double ln2High = 0.693359375, ln2Low = -2.12194440054690583e-4; // high: 9 bits, so that n*high is exact
  Value shifted = f.fma(x, f.c(log2e), f.c(magic));
  Value n = f.sub(shifted, f.c(magic));
  Value r = f.fma(n, f.c(-ln2High), x);
  r = f.fma(n, f.c(-ln2Low), r);
  Value q = f.polynomial(r, {0.5000000049, 0.1666666683, 0.04166634228, 0.008333270649, 0.001394203395, 0.000199156083});
  Value expm1 = f.fma(f.mul(r, r), q, r);
  return {arith::SubIOp::create(f.b, f.bits(shifted), f.i(0x4B400000)), expm1};
}
/// 2^n for -127 < n < 128.
static Value powerOfTwo(F32 &f, Value n) {
  return f.fromBits(arith::ShLIOp::create(f.b, arith::AddIOp::create(f.b, n, f.i(127)), f.i(23)));
}

/// e^(x + low), |low| no more than a unit in x's last place.
static Value expandExp(F32 &f, Value x, Value low = {}) {
  // Beyond these bounds the scaling below gives 0 and infinity by itself.
  ExpParts parts = reduceExp(f, f.clamp(x, -105, 90));
  // In two steps: n reaches from denormals to overflow, and only the last multiplication rounds.
  Value half = arith::ShRSIOp::create(f.b, parts.n, f.i(1));
  Value rest = arith::SubIOp::create(f.b, parts.n, half);
  if (low)
    parts.expm1 = f.add(parts.expm1, f.fma(parts.expm1, low, low));
  Value y = f.add(parts.expm1, f.c(1));
  return f.mul(f.mul(y, powerOfTwo(f, half)), powerOfTwo(f, rest));
}

static Value expandExpM1(F32 &f, Value x) {
  // 2^n (1 + p) - 1 = 2 (2^(n-1) p + (2^(n-1) - 1/2)): exact but for the roundings of p and of the sum.
  ExpParts parts = reduceExp(f, f.clamp(x, -25, 89));
  Value scale = powerOfTwo(f, arith::SubIOp::create(f.b, parts.n, f.i(1)));
  Value y = f.mul(f.fma(scale, parts.expm1, f.sub(scale, f.c(0.5))), f.c(2));
  return f.select(f.equal(x, f.c(0)), x, y); // keeps -0
}

static Value expandLog(F32 &f, Value x) {
  constexpr double ln2High = 0.693359375, ln2Low = -2.12194440054690583e-4;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value tiny = f.less(x, f.c(1.17549435e-38));
  Value normal = f.select(tiny, f.mul(x, f.c(8388608.0)), x); // denormals times 2^23
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  Value bits = f.bits(normal);
  Value e = arith::ShRSIOp::create(f.b, arith::SubIOp::create(f.b, bits, f.i(0x3F3504F3)), f.i(23));
  Value m = f.fromBits(arith::SubIOp::create(f.b, bits, arith::ShLIOp::create(f.b, e, f.i(23))));
  Value exponent = arith::SIToFPOp::create(f.b, f.f32, e);
  exponent = f.sub(exponent, f.select(tiny, f.c(23), f.c(0)));
  // log(1+t) = t - t^2/2 + t^3 p(t)
  Value t = f.sub(m, f.c(1)), square = f.mul(t, t);
  Value p = f.polynomial(t, {0.3333331045, -0.2499998658, 0.2000222623, -0.1666925178, 0.1421866536, -0.1238433627,
                             0.1187291654, -0.1178985671, 0.06915551525});
  Value tail = f.fma(exponent, f.c(ln2Low), f.mul(f.mul(t, square), p));
  tail = f.fma(square, f.c(-0.5), tail);
  Value y = f.fma(exponent, f.c(ln2High), f.add(t, tail));
  y = f.select(f.less(x, f.c(0)), f.c(std::numeric_limits<double>::quiet_NaN()), y);
  y = f.select(f.equal(x, f.c(0)), f.c(-infinity), y);
  // infinity and NaN are their own logarithms
  Value finite = arith::CmpFOp::create(f.b, arith::CmpFPredicate::OLT, x, f.c(infinity));
  return f.select(finite, y, x);
}

static Value expandLog1p(F32 &f, Value x) {
  // log(u) + (x - (u - 1))/u with u = 1 + x rounded: the correction restores what the sum lost.
  Value u = f.add(x, f.c(1));
  Value correction = f.div(f.sub(x, f.sub(u, f.c(1))), u);
  Value y = f.add(expandLog(f, u), correction);
  // Where the correction is not a number (u = 0, infinity), and where y has lost the sign of -0.
  Value infinity = f.c(std::numeric_limits<double>::infinity());
  y = f.select(f.equal(u, f.c(0)), f.c(-std::numeric_limits<double>::infinity()), y);
  y = f.select(f.equal(x, infinity), x, y);
  return f.select(f.equal(x, f.c(0)), x, y);
}

static Value expandTanh(F32 &f, Value x) {
  // tanh a = -t/(2 + t), t = e^-2a - 1: no cancellation anywhere.
  Value t = expandExpM1(f, f.mul(f.abs(x), f.c(-2)));
  return f.withSignOf(f.div(f.neg(t), f.add(t, f.c(2))), x);
}

/// For a >= 0: e^(-a^2) p(t)/(1 + a/2), t = 1/(1 + a/2). The square is split, since an error in it is magnified by its size.
static Value erfcOfMagnitude(F32 &f, Value a) {
  a = f.clamp(a, 0, 10.5); // erfc is 0 in f32 from 10.06 on
  Value d = f.fma(a, f.c(0.5), f.c(1)), t = f.div(f.c(1), d);
  Value p = f.polynomial(f.sub(t, f.c(0.5)), {0.5107913545, 0.6871606942, 0.5589435027, 0.1457674851, -0.172044055, -0.1036261208,
                                              0.09798407984, 0.05340960912, -0.07586540009, -0.0127080673, 0.03631752239});
  Value square = f.mul(a, a), low = f.fma(a, a, f.neg(square));
  return f.mul(expandExp(f, f.neg(square), f.neg(low)), f.div(p, d));
}
/// |x| < 1: x + x p(x^2), p = erf(x)/x - 1: the leading x is exact.
static Value erfOfSmall(F32 &f, Value x) {
  return f.fma(x, f.polynomial(f.mul(x, x), {0.1283791671, -0.3761263848, 0.1128378275, -0.02686544583, 0.005221074889, -0.0008484711611,
                                             0.0001127054568, -9.680139791e-6}), x);
}
static Value expandErfc(F32 &f, Value x) {
  Value a = f.abs(x), tail = erfcOfMagnitude(f, a);
  Value y = f.select(f.less(x, f.c(0)), f.sub(f.c(2), tail), tail);
  return f.select(f.less(a, f.c(0.5)), f.sub(f.c(1), erfOfSmall(f, x)), y);
}
static Value expandErf(F32 &f, Value x) {
  Value a = f.abs(x);
  Value large = f.withSignOf(f.sub(f.c(1), erfcOfMagnitude(f, a)), x);
  return f.select(f.less(a, f.c(1)), erfOfSmall(f, x), large);
}

/// sin(x + quadrant*pi/2). The reduction is done in f64: x is exact there, and the product with pi/2 in two parts leaves 2^-50.
static Value expandSinCos(F32 &f, Value x, int64_t quadrant) {
  ImplicitLocOpBuilder &b = f.b;
  Type f64 = b.getF64Type(), i64 = b.getI64Type();
  auto c = [&](double v) -> Value { return arith::ConstantOp::create(b, b.getF64FloatAttr(v)); };
  constexpr double magic = 6755399441055744.0; // 1.5*2^52: as in reduceExp
  Value wide = arith::ExtFOp::create(b, f64, x);
  Value shifted = math::FmaOp::create(b, wide, c(0.6366197723675814), c(magic));
  Value k = arith::SubFOp::create(b, shifted, c(magic));
  Value r = math::FmaOp::create(b, k, c(-1.5707963267948966), wide);
  r = math::FmaOp::create(b, k, c(-6.123233995736766e-17), r);
  Value bits = arith::TruncIOp::create(b, f.i32, arith::BitcastOp::create(b, i64, shifted));
  bits = arith::AddIOp::create(b, bits, f.i(quadrant));

  Value t = arith::TruncFOp::create(b, f.f32, r), z = f.mul(t, t);
  Value sine = f.fma(f.mul(t, z), f.polynomial(z, {-0.1666666664, 0.008333329386, -0.0001983933486, 2.718311692e-6}), t);
  Value cosine = f.fma(f.mul(z, z), f.polynomial(z, {0.04166666662, -0.001388888375, 2.479952004e-5, -2.721023979e-7}),
                       f.fma(z, f.c(-0.5), f.c(1)));
  auto bit = [&](int64_t mask) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, bits, f.i(mask)), f.i(0));
  };
  Value y = f.select(bit(1), cosine, sine);
  y = f.select(bit(2), f.neg(y), y);
  if (quadrant == 0)
    y = f.select(f.equal(x, f.c(0)), x, y);
  // Infinity minus infinity is the NaN that is wanted.
  Value finite = f.less(f.abs(x), f.c(std::numeric_limits<double>::infinity()));
  return f.select(finite, y, f.sub(x, x));
}

void mpc::expandF32Math(Operation *root) {
  llvm::SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() == "math" && op->getNumOperands() == 1 && op->getResult(0).getType().isF32())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    F32 f{b};
    Value x = op->getOperand(0), y;
    if (isa<math::ExpOp>(op))
      y = expandExp(f, x);
    else if (isa<math::LogOp>(op))
      y = expandLog(f, x);
    else if (isa<math::Log1pOp>(op))
      y = expandLog1p(f, x);
    else if (isa<math::ExpM1Op>(op))
      y = expandExpM1(f, x);
    else if (isa<math::TanhOp>(op))
      y = expandTanh(f, x);
    else if (isa<math::ErfOp>(op))
      y = expandErf(f, x);
    else if (isa<math::ErfcOp>(op))
      y = expandErfc(f, x);
    else if (isa<math::SinOp>(op))
      y = expandSinCos(f, x, 0);
    else if (isa<math::CosOp>(op))
      y = expandSinCos(f, x, 1);
    else
      continue;
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
  }
}
