//===- DoubleMath.cpp - f64 math functions as arithmetic ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These functions are for targets without a libm: every f64 function, and the rarer f32 functions through f64
// (with one rounding more than the exact value has). Range reductions are the classical ones (Muller,
// "Elementary Functions", 3rd ed. 2016, ch. 9 to 11). Series are Taylor's, long enough for their range;
// erfc's is a Chebyshev fit made for this file in 50 digits. The code has no branches, and fused
// multiply-adds are explicit.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/MathApprox/DoubleMath.h"
#include "passes/Lowering/MathApprox/FloatMath.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"
#include <limits>
#include <vector>

using namespace mlir;
using namespace mpc;

static constexpr double inf = std::numeric_limits<double>::infinity(),
                        notANumber = std::numeric_limits<double>::quiet_NaN();
// ln 2 and pi/2 are sums of parts: the leading part of ln 2 has 32 bits, so that small multiples of it are exact.
static constexpr double ln2High = 0x1.62e42feep-1, ln2Low = 0x1.a39ef35793c76p-33, ln2 = 0x1.62e42fefa39efp-1;
static constexpr double halfPi = 0x1.921fb54442d18p+0, halfPi2 = 0x1.1a62633145c07p-54,
                        halfPi3 = -0x1.f1976b7ed8fbcp-110;
static constexpr double magic = 0x1.8p52; // adding it rounds to an integer, which is then in the low bits

namespace {

/// The sum of high and low, where |low| is at most half a unit in the last place of high.
struct Sum {
  Value high, low;
};

/// e^x - 1 = 2^n (1 + r + tail) - 1
struct ExpParts {
  Value n, r, tail;
};

} // namespace

/// Reduces x + low, where |low| << |x|; the caller has clamped x.
static ExpParts reduceExp(FloatMath &f, Value x, Value low = {}) {
  Value shifted = f.fma(x, 1.4426950408889634, magic);
  Value k = f.sub(shifted, magic);
  Value reduced = f.fma(k, -ln2High, x); // exact
  Value r = f.fma(k, -ln2Low, reduced);
  Value rest = f.fma(k, -ln2Low, f.sub(reduced, r)); // what r has lost
  if (low)
    rest = f.add(rest, low);
  // e^r = 1 + r + r^2 q(r) with |r| <= ln2/2: the last term is below 2^-60.
  std::vector<double> taylor;
  double factorial = 1;
  for (int n = 2; n <= 15; ++n)
    taylor.push_back(1 / (factorial *= n));
  Value series = f.polynomial(r, taylor), higher = f.mul(f.mul(r, r), series);
  // e^(r + rest) = e^r + e^r rest
  Value lower = f.add(higher, rest), tail = f.fma(rest, f.add(r, higher), lower);
  Value zero = f.i(0x4338000000000000);
  return {f.sub(f.bits(shifted), zero), r, tail};
}

/// e^(x + low) 2^shift. The power of two is applied in two steps, so that n reaches from denormals to
/// overflow and only the last multiplication rounds.
static Value expOf(FloatMath &f, Value x, Value low = {}, int64_t shift = 0) {
  ExpParts e = reduceExp(f, f.clamp(x, -760, 720), low);
  Value one = f.add(e.r, 1), lost = f.sub(e.r, f.sub(one, 1));
  Value y = f.add(one, f.add(lost, e.tail));
  Value n = f.add(e.n, f.i(shift));
  Value half = f.shiftRightSigned(n, 1);
  Value second = f.powerOfTwo(f.sub(n, half));
  return f.mul(f.mul(y, f.powerOfTwo(half)), second);
}

static Value expm1Of(FloatMath &f, Value x) {
  // 2 (2^(n-1) p + (2^(n-1) - 1/2))
  ExpParts e = reduceExp(f, f.clamp(x, -50, 710));
  Value scale = f.powerOfTwo(f.sub(e.n, f.i(1)));
  Value rest = f.sub(scale, 0.5), y = f.mul(f.fma(scale, f.add(e.r, e.tail), rest), 2);
  return f.select(f.equal(x, 0), x, y);
}

/// log x for 0 < x < infinity, as a sum with an error of about 2^-64; arbitrary values for other x.
static Sum logSum(FloatMath &f, Value x) {
  Value tiny = f.less(x, 0x1p-1022);
  Value normal = f.select(tiny, f.mul(x, 0x1p54), x);
  // x = 2^e m, m in [sqrt(1/2), sqrt(2)); t = m - 1; log m = 2 atanh s, s = t/(2 + t)
  Value bits = f.bits(normal);
  Value e = f.shiftRightSigned(f.sub(bits, f.i(0x3FE6A09E667F3BCD)), 52);
  Value m = f.fromBits(f.sub(bits, f.shiftLeft(e, 52)));
  Value moved = f.select(tiny, 54, 0), k = f.sub(f.toFloat(f.type, e), moved);
  Value t = f.sub(m, 1), d = f.add(t, 2), dLow = f.sub(t, f.sub(d, 2));
  Value s = f.div(t, d), remainder = f.fma(f.neg(s), d, t), sLow = f.div(f.fma(f.neg(s), dLow, remainder), d);
  // The series is s^3 (2/3 + s^2 q), with the leading product in two parts.
  Value z = f.mul(s, s), zRest = f.fma(s, s, f.neg(z)), zLow = f.fma(f.mul(s, 2), sLow, zRest);
  Value cube = f.mul(s, z), ofLows = f.fma(s, zLow, f.mul(sLow, z)), cubeLow = f.add(f.fma(s, z, f.neg(cube)), ofLows);
  constexpr double third = 0x1.5555555555555p-1, thirdLow = 0x1.5555555555555p-55;
  Value term = f.mul(cube, third);
  Value termLow = f.fma(cubeLow, third, f.fma(cube, thirdLow, f.fma(cube, third, f.neg(term))));
  std::vector<double> series; // 2/5 + 2/7 z + ...: |z| <= 0.0295
  for (int n = 5; n <= 25; n += 2)
    series.push_back(2.0 / n);
  Value tail = f.polynomial(z, series);
  termLow = f.fma(f.mul(cube, z), tail, termLow);
  // k ln2 + 2s + term is added with the larger parts first; the rounding errors are collected.
  auto twoSum = [&](Value a, Value b) -> Sum {
    Value sum = f.add(a, b), back = f.sub(sum, a), lostOfB = f.sub(b, back);
    return {sum, f.add(f.sub(a, f.sub(sum, back)), lostOfB)};
  };
  Value twice = f.mul(s, 2);
  Sum lead = twoSum(f.mul(k, ln2High), twice);
  Sum next = twoSum(lead.high, term);
  Value lows = f.fma(k, ln2Low, f.fma(sLow, 2, termLow)), low = f.add(f.add(lead.low, next.low), lows);
  Value high = f.add(next.high, low);
  return {high, f.sub(low, f.sub(high, next.high))};
}

static Value logOf(FloatMath &f, Value x) {
  Value y = logSum(f, x).high;
  y = f.select(f.less(x, 0), notANumber, y);
  y = f.select(f.equal(x, 0), -inf, y);
  return f.select(f.less(x, inf), y, x); // infinity and NaN are their own logarithms
}

static Value log1pOf(FloatMath &f, Value x) {
  // log(1 + x) = log(u) + (x - (u - 1))/u, where u is 1 + x, rounded.
  Value u = f.add(x, 1), correction = f.div(f.sub(x, f.sub(u, 1)), u);
  Value y = f.add(logOf(f, u), correction);
  y = f.select(f.equal(u, 0), -inf, y);
  y = f.select(f.equal(x, inf), x, y);
  return f.select(f.less(f.abs(x), 0x1p-54), x, y);
}

/// Reduces x = k pi/2 + r and returns the sine and the cosine of r, and the bits of k.
static std::array<Value, 3> sinCos(FloatMath &f, Value x) {
  Value shifted = f.fma(x, 0.6366197723675814, magic);
  Value k = f.sub(shifted, magic);
  // The product of each part is exact inside the fma; what the fma rounds off is kept in `low`.
  Value a = f.fma(k, -halfPi, x);
  Value product = f.mul(k, halfPi2), productLow = f.fma(k, halfPi2, f.neg(product));
  Value r = f.sub(a, product);
  Value low = f.sub(f.sub(f.sub(a, r), product), productLow);
  low = f.fma(k, -halfPi3, low);
  std::vector<double> sine, cosine; // (sin r - r)/r^3 and (cos r - 1 + r^2/2)/r^4 as series in r^2 <= 0.617
  double factorial = 2;
  for (int n = 3; n <= 20; ++n) {
    factorial *= n;
    double sign = n % 4 < 2 ? 1 : -1; // + for n = 4, 5; - for 3, 6, 7
    (n % 2 ? sine : cosine).push_back(sign / factorial);
  }
  Value z = f.mul(r, r), ofSine = f.polynomial(z, sine), rest = f.mul(f.mul(r, z), ofSine);
  // sin(r + low) = sin r + low cos r
  Value half = f.mul(z, 0.5), lead = f.sub(1, half);
  Value s = f.add(r, f.fma(low, lead, rest));
  Value lost = f.sub(f.sub(1, lead), half);
  Value turn = f.neg(f.mul(r, low)), ofCosine = f.polynomial(z, cosine);
  Value co = f.add(lead, f.add(lost, f.fma(f.mul(z, z), ofCosine, turn)));
  return {s, co, f.bits(shifted)};
}

/// Handles special values: infinity and NaN give NaN; for an odd function a zero gives itself.
static Value trigonometricSpecials(FloatMath &f, Value x, Value y, bool odd) {
  if (odd)
    y = f.select(f.equal(x, 0), x, y);
  Value undefined = f.sub(x, x);
  return f.select(f.less(f.abs(x), inf), y, undefined);
}
static Value sinOf(FloatMath &f, Value x, int64_t quadrant) {
  auto [s, c, bits] = sinCos(f, x);
  Value k = f.add(bits, f.i(quadrant));
  Value y = f.select(f.anyBit(k, 1), c, s), negated = f.neg(y);
  return trigonometricSpecials(f, x, f.select(f.anyBit(k, 2), negated, y), quadrant == 0);
}
static Value tanOf(FloatMath &f, Value x) {
  auto [s, c, bits] = sinCos(f, x);
  Value odd = f.anyBit(bits, 1), divisor = f.select(odd, s, c);
  return trigonometricSpecials(f, x, f.div(f.select(odd, f.neg(c), s), divisor), true);
}

static Value atanOf(FloatMath &f, Value x) {
  // atan a = c + atan u, where u is a for a below tan(pi/8), (a - 1)/(a + 1) below tan(3 pi/8), and -1/a beyond.
  Value a = f.abs(x);
  Value small = f.less(a, 0.41421356237309503), large = f.less(2.414213562373095, a);
  Value numerator = f.select(small, a, f.select(large, -1, f.sub(a, 1)));
  Value denominator = f.select(small, 1, f.select(large, a, f.add(a, 1)));
  auto constant = [&](double quarter, double half) { return f.select(small, 0, f.select(large, half, quarter)); };
  Value u = f.div(numerator, denominator), z = f.mul(u, u);
  std::vector<double> series; // -1/3 + z/5 - ..., z <= 0.172
  for (int n = 3; n <= 47; n += 2)
    series.push_back((n % 4 == 3 ? -1.0 : 1.0) / n);
  Value offset = constant(halfPi2 / 2, halfPi2), higher = f.polynomial(z, series),
        tail = f.fma(f.mul(u, z), higher, offset);
  Value rest = f.add(u, tail);
  return f.withSignOf(f.add(constant(halfPi / 2, halfPi), rest), x);
}

static Value asinOf(FloatMath &f, Value x) {
  Value above = f.add(1, x), y = atanOf(f, f.div(x, f.sqrt(f.mul(f.sub(1, x), above))));
  return f.select(f.equal(x, 0), x, y);
}
static Value acosOf(FloatMath &f, Value x) {
  Value above = f.add(1, x);
  return f.mul(2, atanOf(f, f.sqrt(f.div(f.sub(1, x), above))));
}

static Value sinhOf(FloatMath &f, Value x) {
  Value a = f.abs(x), e = expm1Of(f, f.clamp(a, 0, 2));
  Value small = f.mul(0.5, f.add(e, f.div(e, f.add(e, 1))));
  Value half = expOf(f, a, {}, -1); // e^a / 2 does not overflow before sinh does
  Value large = f.sub(half, f.div(0.25, half));
  return f.withSignOf(f.select(f.less(a, 1), small, large), x);
}
static Value coshOf(FloatMath &f, Value x) {
  Value half = expOf(f, f.abs(x), {}, -1);
  return f.add(half, f.div(0.25, half));
}
static Value tanhOf(FloatMath &f, Value x) {
  Value t = expm1Of(f, f.mul(f.abs(x), -2)), divisor = f.add(t, 2);
  return f.withSignOf(f.div(f.neg(t), divisor), x);
}
static Value asinhOf(FloatMath &f, Value x) {
  // log(a + sqrt(a^2 + 1)) = log1p(a + a^2/(1 + sqrt(a^2 + 1))); from 2^28 on log a + ln 2 is used.
  Value a = f.abs(x), big = f.less(0x1p28, a), square = f.mul(a, a);
  Value argument = f.add(a, f.div(square, f.add(1, f.sqrt(f.add(square, 1)))));
  Value otherwise = log1pOf(f, argument), y = f.select(big, f.add(logOf(f, a), ln2), otherwise);
  return f.withSignOf(y, x);
}
static Value acoshOf(FloatMath &f, Value x) {
  Value big = f.less(0x1p28, x), t = f.sub(x, 1);
  Value argument = f.add(t, f.sqrt(f.mul(t, f.add(t, 2))));
  Value otherwise = log1pOf(f, argument), y = f.select(big, f.add(logOf(f, x), ln2), otherwise);
  return f.select(f.less(x, 1), notANumber, y);
}
static Value atanhOf(FloatMath &f, Value x) {
  Value a = f.abs(x), rest = f.sub(1, a);
  Value y = f.mul(0.5, log1pOf(f, f.div(f.mul(a, 2), rest)));
  return f.withSignOf(y, x);
}

/// erfc a for a >= 1: e^(-a^2) t p(t), where t = 1/(1 + a/2).
static Value erfcTail(FloatMath &f, Value a) {
  a = f.clamp(a, 1, 27.5); // erfc is 0 in f64 from 27.3 on
  Value t = f.div(1, f.fma(a, 0.5, 1));
  Value p = f.polynomial(
      f.mul(f.sub(t, 0x1.780b92143fa37p-2), 0x1.ab78c13521cfbp+1),
      {0.429021055698675925,     0.164053575557590776,     0.0435316025954566568,    0.00577290303355978272,
       -0.000668983730790351262, -0.000367482726777042697, 0.000010180527490049054,  0.000025002370878177839,
       -7.96148730391619859e-7,  -2.02658460613456776e-6,  2.0946174528928104e-7,    1.72799101890474896e-7,
       -4.29700028075857533e-8,  -1.19890769393286487e-8,  6.93946466959607509e-9,   3.24309909883106834e-11,
       -8.60763922063066042e-10, 2.01740381868021913e-10,  6.58570984560816864e-11,  -4.47472235610806781e-11,
       6.01463611375075486e-13,  5.56691301465831939e-12,  -6.14292229373678029e-13, -3.40452500689035261e-13});
  Value square = f.mul(a, a), low = f.fma(a, a, f.neg(square));
  Value factor = f.mul(t, p), minusLow = f.neg(low);
  return f.mul(expOf(f, f.neg(square), minusLow), factor);
}
static Value erfSeries(FloatMath &f, Value x) { // |x| <= 1
  std::vector<double> series;
  double factorial = 1;
  for (int n = 0; n <= 22; ++n) {
    factorial *= n ? n : 1;
    series.push_back((n % 2 ? -1 : 1) * 1.1283791670955126 / (factorial * (2 * n + 1)));
  }
  series[0] = 0.1283791670955126; // x itself is added exactly
  return f.fma(x, f.polynomial(f.mul(x, x), series), x);
}
static Value erfOf(FloatMath &f, Value x) {
  Value a = f.abs(x);
  Value large = f.withSignOf(f.sub(1, erfcTail(f, a)), x), small = erfSeries(f, x);
  return f.select(f.less(a, 1), small, large);
}
static Value erfcOf(FloatMath &f, Value x) {
  // For |x| up to 1, 1 - erf loses at most three bits.
  Value a = f.abs(x), tail = erfcTail(f, a), reflected = f.sub(2, tail);
  Value large = f.select(f.less(x, 0), reflected, tail), small = f.sub(1, erfSeries(f, x));
  return f.select(f.less(a, 1), small, large);
}

/// C's pow. `y log x` is kept as a sum of two numbers, so that powers of integers are exact where they fit.
static Value powOf(FloatMath &f, Value x, Value y) {
  Value a = f.abs(x), one = f.c(1), zero = f.c(0);
  Value clamped = f.clamp(y, -0x1p64, 0x1p64); // with |log a| >= 2^-53 these exponents over- or underflow already
  Sum log = logSum(f, a);
  Value high = f.mul(clamped, log.high);
  Value low = f.fma(clamped, log.low, f.fma(clamped, log.high, f.neg(high)));
  low = f.select(f.less(f.abs(high), 800), low, zero);
  Value result = expOf(f, high, low);

  Value negative = f.less(y, zero);
  Value ofZero = f.select(negative, inf, zero), ofInfinity = f.select(negative, zero, inf);
  result = f.select(f.equal(a, zero), ofZero, result);
  result = f.select(f.equal(a, inf), ofInfinity, result);
  // An infinite exponent gives what the clamped one gives, except for a = 1.
  result = f.select(f.equal(a, one), one, result);

  Value whole = f.equal(f.create<math::TruncOp>(y), y), half = f.mul(y, 0.5);
  Value odd = f.both(whole, f.compare(arith::CmpFPredicate::ONE, f.create<math::TruncOp>(half), half));
  Value none = f.i(0), signBit = f.compare(arith::CmpIPredicate::slt, f.bits(x), none), negated = f.neg(result);
  result = f.select(f.both(signBit, odd), negated, result);
  Value fractional = f.compare(arith::CmpFPredicate::UNE, f.create<math::TruncOp>(y), y), finite = f.less(a, inf);
  Value undefined = f.both(f.both(f.less(x, zero), finite), fractional);
  result = f.select(undefined, notANumber, result);
  result = f.select(f.compare(arith::CmpFPredicate::UNO, x, y), notANumber, result);
  result = f.select(f.equal(y, zero), one, result);
  return f.select(f.equal(x, one), one, result);
}

using Expansion = Value (*)(FloatMath &, ValueRange);

/// Returns the arithmetic of a math op, or null where the op needs none (sqrt, fma, rounding) or is unknown.
static Expansion expansionOf(Operation *op) {
  static const llvm::StringMap<Expansion> expansions = {
      {math::ExpOp::getOperationName(), [](FloatMath &f, ValueRange x) { return expOf(f, x[0]); }},
      {math::ExpM1Op::getOperationName(), [](FloatMath &f, ValueRange x) { return expm1Of(f, x[0]); }},
      {math::LogOp::getOperationName(), [](FloatMath &f, ValueRange x) { return logOf(f, x[0]); }},
      {math::Log1pOp::getOperationName(), [](FloatMath &f, ValueRange x) { return log1pOf(f, x[0]); }},
      {math::SinOp::getOperationName(), [](FloatMath &f, ValueRange x) { return sinOf(f, x[0], 0); }},
      {math::CosOp::getOperationName(), [](FloatMath &f, ValueRange x) { return sinOf(f, x[0], 1); }},
      {math::TanOp::getOperationName(), [](FloatMath &f, ValueRange x) { return tanOf(f, x[0]); }},
      {math::AsinOp::getOperationName(), [](FloatMath &f, ValueRange x) { return asinOf(f, x[0]); }},
      {math::AcosOp::getOperationName(), [](FloatMath &f, ValueRange x) { return acosOf(f, x[0]); }},
      {math::AtanOp::getOperationName(), [](FloatMath &f, ValueRange x) { return atanOf(f, x[0]); }},
      {math::SinhOp::getOperationName(), [](FloatMath &f, ValueRange x) { return sinhOf(f, x[0]); }},
      {math::CoshOp::getOperationName(), [](FloatMath &f, ValueRange x) { return coshOf(f, x[0]); }},
      {math::TanhOp::getOperationName(), [](FloatMath &f, ValueRange x) { return tanhOf(f, x[0]); }},
      {math::AsinhOp::getOperationName(), [](FloatMath &f, ValueRange x) { return asinhOf(f, x[0]); }},
      {math::AcoshOp::getOperationName(), [](FloatMath &f, ValueRange x) { return acoshOf(f, x[0]); }},
      {math::AtanhOp::getOperationName(), [](FloatMath &f, ValueRange x) { return atanhOf(f, x[0]); }},
      {math::ErfOp::getOperationName(), [](FloatMath &f, ValueRange x) { return erfOf(f, x[0]); }},
      {math::ErfcOp::getOperationName(), [](FloatMath &f, ValueRange x) { return erfcOf(f, x[0]); }},
      {math::PowFOp::getOperationName(), [](FloatMath &f, ValueRange x) { return powOf(f, x[0], x[1]); }},
  };
  return expansions.lookup(op->getName().getStringRef());
}

bool mpc::expandsF64(Operation *op) { return expansionOf(op); }

Value mpc::expandF64(Operation *op, ValueRange operands) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  FloatMath f(b, b.getF64Type());
  return expansionOf(op)(f, operands);
}
