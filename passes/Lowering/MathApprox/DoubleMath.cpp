//===- DoubleMath.cpp - f64 math functions as arithmetic ---------------------------===//
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
#include "llvm/ADT/StringMap.h"
#include <limits>
#include <vector>

using namespace mlir;
using namespace mpc;

static constexpr double inf = std::numeric_limits<double>::infinity(), notANumber = std::numeric_limits<double>::quiet_NaN();
// ln 2 and pi/2 are sums of parts: the leading part of ln 2 has 32 bits, so that small multiples of it are
// exact.
static constexpr double ln2High = 0x1.62e42feep-1, ln2Low = 0x1.a39ef35793c76p-33, ln2 = 0x1.62e42fefa39efp-1;
static constexpr double halfPi = 0x1.921fb54442d18p+0, halfPi2 = 0x1.1a62633145c07p-54, halfPi3 = -0x1.f1976b7ed8fbcp-110;
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
  Value shifted = f.fma(x, f.c(1.4426950408889634), f.c(magic));
  Value k = f.sub(shifted, f.c(magic));
  Value reduced = f.fma(k, f.c(-ln2High), x); // exact
  Value r = f.fma(k, f.c(-ln2Low), reduced);
  Value rest = f.fma(k, f.c(-ln2Low), f.sub(reduced, r)); // what r has lost
  if (low)
    rest = f.add(rest, low);
  // e^r = 1 + r + r^2 q(r) with |r| <= ln2/2: the last term is below 2^-60.
  std::vector<double> taylor;
  double factorial = 1;
  for (int n = 2; n <= 15; ++n)
    taylor.push_back(1 / (factorial *= n));
  Value higher = f.mul(f.mul(r, r), f.polynomial(r, taylor));
  // e^(r + rest) = e^r + e^r rest
  Value tail = f.fma(rest, f.add(r, higher), f.add(higher, rest));
  return {arith::SubIOp::create(f.b, f.bits(shifted), f.i(0x4338000000000000)), r, tail};
}

/// e^(x + low) 2^shift. The power of two is applied in two steps, so that n reaches from denormals to
/// overflow and only the last multiplication rounds.
static Value expOf(FloatMath &f, Value x, Value low = {}, int64_t shift = 0) {
  ExpParts e = reduceExp(f, f.clamp(x, -760, 720), low);
  Value one = f.add(e.r, f.c(1)), lost = f.sub(e.r, f.sub(one, f.c(1)));
  Value y = f.add(one, f.add(lost, e.tail));
  Value n = arith::AddIOp::create(f.b, e.n, f.i(shift));
  Value half = arith::ShRSIOp::create(f.b, n, f.i(1));
  return f.mul(f.mul(y, f.powerOfTwo(half)), f.powerOfTwo(arith::SubIOp::create(f.b, n, half)));
}

static Value expm1Of(FloatMath &f, Value x) {
  // 2 (2^(n-1) p + (2^(n-1) - 1/2))
  ExpParts e = reduceExp(f, f.clamp(x, -50, 710));
  Value scale = f.powerOfTwo(arith::SubIOp::create(f.b, e.n, f.i(1)));
  Value y = f.mul(f.fma(scale, f.add(e.r, e.tail), f.sub(scale, f.c(0.5))), f.c(2));
  return f.select(f.equal(x, f.c(0)), x, y);
}

/// log x for 0 < x < infinity, as a sum with an error of about 2^-64; arbitrary values for other x.
static Sum logSum(FloatMath &f, Value x) {
  Value tiny = f.less(x, f.c(0x1p-1022));
  Value normal = f.select(tiny, f.mul(x, f.c(0x1p54)), x);
  // x = 2^e m, m in [sqrt(1/2), sqrt(2)); t = m - 1; log m = 2 atanh s, s = t/(2 + t)
  Value bits = f.bits(normal);
  Value e = arith::ShRSIOp::create(f.b, arith::SubIOp::create(f.b, bits, f.i(0x3FE6A09E667F3BCD)), f.i(52));
  Value m = f.fromBits(arith::SubIOp::create(f.b, bits, arith::ShLIOp::create(f.b, e, f.i(52))));
  Value k = f.sub(arith::SIToFPOp::create(f.b, f.type, e), f.select(tiny, f.c(54), f.c(0)));
  Value t = f.sub(m, f.c(1)), d = f.add(t, f.c(2)), dLow = f.sub(t, f.sub(d, f.c(2)));
  Value s = f.div(t, d), sLow = f.div(f.fma(f.neg(s), dLow, f.fma(f.neg(s), d, t)), d);
  // The series is s^3 (2/3 + s^2 q), with the leading product in two parts.
  Value z = f.mul(s, s), zLow = f.fma(f.mul(s, f.c(2)), sLow, f.fma(s, s, f.neg(z)));
  Value cube = f.mul(s, z), cubeLow = f.add(f.fma(s, z, f.neg(cube)), f.fma(s, zLow, f.mul(sLow, z)));
  constexpr double third = 0x1.5555555555555p-1, thirdLow = 0x1.5555555555555p-55;
  Value term = f.mul(cube, f.c(third));
  Value termLow = f.fma(cubeLow, f.c(third), f.fma(cube, f.c(thirdLow), f.fma(cube, f.c(third), f.neg(term))));
  std::vector<double> series; // 2/5 + 2/7 z + ...: |z| <= 0.0295
  for (int n = 5; n <= 25; n += 2)
    series.push_back(2.0 / n);
  termLow = f.fma(f.mul(cube, z), f.polynomial(z, series), termLow);
  // k ln2 + 2s + term is added with the larger parts first; the rounding errors are collected.
  auto twoSum = [&](Value a, Value b) -> Sum {
    Value sum = f.add(a, b), back = f.sub(sum, a);
    return {sum, f.add(f.sub(a, f.sub(sum, back)), f.sub(b, back))};
  };
  Sum lead = twoSum(f.mul(k, f.c(ln2High)), f.mul(s, f.c(2)));
  Sum next = twoSum(lead.high, term);
  Value low = f.add(f.add(lead.low, next.low), f.fma(k, f.c(ln2Low), f.fma(sLow, f.c(2), termLow)));
  Value high = f.add(next.high, low);
  return {high, f.sub(low, f.sub(high, next.high))};
}

static Value logOf(FloatMath &f, Value x) {
  Value y = logSum(f, x).high;
  y = f.select(f.less(x, f.c(0)), f.c(notANumber), y);
  y = f.select(f.equal(x, f.c(0)), f.c(-inf), y);
  return f.select(f.less(x, f.c(inf)), y, x); // infinity and NaN are their own logarithms
}

static Value log1pOf(FloatMath &f, Value x) {
  // log(1 + x) = log(u) + (x - (u - 1))/u, where u is 1 + x, rounded.
  Value u = f.add(x, f.c(1));
  Value y = f.add(logOf(f, u), f.div(f.sub(x, f.sub(u, f.c(1))), u));
  y = f.select(f.equal(u, f.c(0)), f.c(-inf), y);
  y = f.select(f.equal(x, f.c(inf)), x, y);
  return f.select(f.less(f.abs(x), f.c(0x1p-54)), x, y);
}

/// Reduces x = k pi/2 + r and returns the sine and the cosine of r, and the bits of k.
static std::array<Value, 3> sinCos(FloatMath &f, Value x) {
  Value shifted = f.fma(x, f.c(0.6366197723675814), f.c(magic));
  Value k = f.sub(shifted, f.c(magic));
  // The product of each part is exact inside the fma; what the fma rounds off is kept in `low`.
  Value a = f.fma(k, f.c(-halfPi), x);
  Value product = f.mul(k, f.c(halfPi2)), productLow = f.fma(k, f.c(halfPi2), f.neg(product));
  Value r = f.sub(a, product);
  Value low = f.sub(f.sub(f.sub(a, r), product), productLow);
  low = f.fma(k, f.c(-halfPi3), low);
  std::vector<double> sine, cosine; // (sin r - r)/r^3 and (cos r - 1 + r^2/2)/r^4 as series in r^2 <= 0.617
  double factorial = 2;
  for (int n = 3; n <= 20; ++n) {
    factorial *= n;
    double sign = n % 4 < 2 ? 1 : -1; // + for n = 4, 5; - for 3, 6, 7
    (n % 2 ? sine : cosine).push_back(sign / factorial);
  }
  Value z = f.mul(r, r), rest = f.mul(f.mul(r, z), f.polynomial(z, sine));
  // sin(r + low) = sin r + low cos r
  Value half = f.mul(z, f.c(0.5)), lead = f.sub(f.c(1), half);
  Value s = f.add(r, f.fma(low, lead, rest));
  Value lost = f.sub(f.sub(f.c(1), lead), half);
  Value co = f.add(lead, f.add(lost, f.fma(f.mul(z, z), f.polynomial(z, cosine), f.neg(f.mul(r, low)))));
  return {s, co, f.bits(shifted)};
}

/// Handles special values: infinity and NaN give NaN; for an odd function a zero gives itself.
static Value trigonometricSpecials(FloatMath &f, Value x, Value y, bool odd) {
  if (odd)
    y = f.select(f.equal(x, f.c(0)), x, y);
  return f.select(f.less(f.abs(x), f.c(inf)), y, f.sub(x, x));
}
static Value sinOf(FloatMath &f, Value x, int64_t quadrant) {
  auto [s, c, bits] = sinCos(f, x);
  Value k = arith::AddIOp::create(f.b, bits, f.i(quadrant));
  Value y = f.select(f.anyBit(k, 1), c, s);
  return trigonometricSpecials(f, x, f.select(f.anyBit(k, 2), f.neg(y), y), quadrant == 0);
}
static Value tanOf(FloatMath &f, Value x) {
  auto [s, c, bits] = sinCos(f, x);
  Value odd = f.anyBit(bits, 1);
  return trigonometricSpecials(f, x, f.div(f.select(odd, f.neg(c), s), f.select(odd, s, c)), true);
}

static Value atanOf(FloatMath &f, Value x) {
  // atan a = c + atan u, where u is a for a below tan(pi/8), (a - 1)/(a + 1) below tan(3 pi/8), and -1/a
  // beyond.
  Value a = f.abs(x);
  Value small = f.less(a, f.c(0.41421356237309503)), large = f.less(f.c(2.414213562373095), a);
  Value numerator = f.select(small, a, f.select(large, f.c(-1), f.sub(a, f.c(1))));
  Value denominator = f.select(small, f.c(1), f.select(large, a, f.add(a, f.c(1))));
  auto constant = [&](double quarter, double half) { return f.select(small, f.c(0), f.select(large, f.c(half), f.c(quarter))); };
  Value u = f.div(numerator, denominator), z = f.mul(u, u);
  std::vector<double> series; // -1/3 + z/5 - ..., z <= 0.172
  for (int n = 3; n <= 47; n += 2)
    series.push_back((n % 4 == 3 ? -1.0 : 1.0) / n);
  Value tail = f.fma(f.mul(u, z), f.polynomial(z, series), constant(halfPi2 / 2, halfPi2));
  Value y = f.add(constant(halfPi / 2, halfPi), f.add(u, tail));
  return f.withSignOf(y, x);
}

static Value asinOf(FloatMath &f, Value x) {
  Value y = atanOf(f, f.div(x, f.sqrt(f.mul(f.sub(f.c(1), x), f.add(f.c(1), x)))));
  return f.select(f.equal(x, f.c(0)), x, y);
}
static Value acosOf(FloatMath &f, Value x) {
  return f.mul(f.c(2), atanOf(f, f.sqrt(f.div(f.sub(f.c(1), x), f.add(f.c(1), x)))));
}

static Value sinhOf(FloatMath &f, Value x) {
  Value a = f.abs(x), e = expm1Of(f, f.clamp(a, 0, 2));
  Value small = f.mul(f.c(0.5), f.add(e, f.div(e, f.add(e, f.c(1)))));
  Value half = expOf(f, a, {}, -1); // e^a / 2 does not overflow before sinh does
  Value large = f.sub(half, f.div(f.c(0.25), half));
  return f.withSignOf(f.select(f.less(a, f.c(1)), small, large), x);
}
static Value coshOf(FloatMath &f, Value x) {
  Value half = expOf(f, f.abs(x), {}, -1);
  return f.add(half, f.div(f.c(0.25), half));
}
static Value tanhOf(FloatMath &f, Value x) {
  Value t = expm1Of(f, f.mul(f.abs(x), f.c(-2)));
  return f.withSignOf(f.div(f.neg(t), f.add(t, f.c(2))), x);
}
static Value asinhOf(FloatMath &f, Value x) {
  // log(a + sqrt(a^2 + 1)) = log1p(a + a^2/(1 + sqrt(a^2 + 1))); from 2^28 on log a + ln 2 is used.
  Value a = f.abs(x), big = f.less(f.c(0x1p28), a), square = f.mul(a, a);
  Value argument = f.add(a, f.div(square, f.add(f.c(1), f.sqrt(f.add(square, f.c(1))))));
  Value y = f.select(big, f.add(logOf(f, a), f.c(ln2)), log1pOf(f, argument));
  return f.withSignOf(y, x);
}
static Value acoshOf(FloatMath &f, Value x) {
  Value big = f.less(f.c(0x1p28), x), t = f.sub(x, f.c(1));
  Value argument = f.add(t, f.sqrt(f.mul(t, f.add(t, f.c(2)))));
  Value y = f.select(big, f.add(logOf(f, x), f.c(ln2)), log1pOf(f, argument));
  return f.select(f.less(x, f.c(1)), f.c(notANumber), y);
}
static Value atanhOf(FloatMath &f, Value x) {
  Value a = f.abs(x);
  Value y = f.mul(f.c(0.5), log1pOf(f, f.div(f.mul(a, f.c(2)), f.sub(f.c(1), a))));
  return f.withSignOf(y, x);
}

/// erfc a for a >= 1: e^(-a^2) t p(t), where t = 1/(1 + a/2).
static Value erfcTail(FloatMath &f, Value a) {
  a = f.clamp(a, 1, 27.5); // erfc is 0 in f64 from 27.3 on
  Value t = f.div(f.c(1), f.fma(a, f.c(0.5), f.c(1)));
  Value p = f.polynomial(f.mul(f.sub(t, f.c(0x1.780b92143fa37p-2)), f.c(0x1.ab78c13521cfbp+1)), {
      0.429021055698675925, 0.164053575557590776, 0.0435316025954566568, 0.00577290303355978272,
      -0.000668983730790351262, -0.000367482726777042697, 0.000010180527490049054, 0.000025002370878177839,
      -7.96148730391619859e-7, -2.02658460613456776e-6, 2.0946174528928104e-7, 1.72799101890474896e-7,
      -4.29700028075857533e-8, -1.19890769393286487e-8, 6.93946466959607509e-9, 3.24309909883106834e-11,
      -8.60763922063066042e-10, 2.01740381868021913e-10, 6.58570984560816864e-11, -4.47472235610806781e-11,
      6.01463611375075486e-13, 5.56691301465831939e-12, -6.14292229373678029e-13, -3.40452500689035261e-13});
  Value square = f.mul(a, a), low = f.fma(a, a, f.neg(square));
  return f.mul(expOf(f, f.neg(square), f.neg(low)), f.mul(t, p));
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
  Value large = f.withSignOf(f.sub(f.c(1), erfcTail(f, a)), x);
  return f.select(f.less(a, f.c(1)), erfSeries(f, x), large);
}
static Value erfcOf(FloatMath &f, Value x) {
  // For |x| up to 1, 1 - erf loses at most three bits.
  Value a = f.abs(x), tail = erfcTail(f, a);
  Value large = f.select(f.less(x, f.c(0)), f.sub(f.c(2), tail), tail);
  return f.select(f.less(a, f.c(1)), f.sub(f.c(1), erfSeries(f, x)), large);
}

/// C's pow. `y log x` is kept as a sum of two numbers, so that powers of integers are exact where they fit.
static Value powOf(FloatMath &f, Value x, Value y) {
  Value a = f.abs(x), one = f.c(1), zero = f.c(0);
  Value clamped = f.clamp(y, -0x1p64, 0x1p64); // with |log a| >= 2^-53 these exponents over- or underflow already
  Sum log = logSum(f, a);
  Value high = f.mul(clamped, log.high);
  Value low = f.fma(clamped, log.low, f.fma(clamped, log.high, f.neg(high)));
  low = f.select(f.less(f.abs(high), f.c(800)), low, zero);
  Value result = expOf(f, high, low);

  Value negative = f.less(y, zero);
  Value ofZero = f.select(negative, f.c(inf), zero), ofInfinity = f.select(negative, zero, f.c(inf));
  result = f.select(f.equal(a, zero), ofZero, result);
  result = f.select(f.equal(a, f.c(inf)), ofInfinity, result);
  // An infinite exponent gives what the clamped one gives, except for a = 1.
  result = f.select(f.equal(a, one), one, result);

  Value whole = f.equal(math::TruncOp::create(f.b, y), y), half = f.mul(y, f.c(0.5));
  Value odd = f.both(whole, f.compare(arith::CmpFPredicate::ONE, math::TruncOp::create(f.b, half), half));
  Value signBit = arith::CmpIOp::create(f.b, arith::CmpIPredicate::slt, f.bits(x), f.i(0));
  result = f.select(f.both(signBit, odd), f.neg(result), result);
  Value undefined = f.both(f.both(f.less(x, zero), f.less(a, f.c(inf))), f.compare(arith::CmpFPredicate::UNE, math::TruncOp::create(f.b, y), y));
  result = f.select(undefined, f.c(notANumber), result);
  result = f.select(f.compare(arith::CmpFPredicate::UNO, x, y), f.c(notANumber), result);
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

Value mpc::expandF64(ImplicitLocOpBuilder &b, Operation *op, ValueRange operands) {
  FloatMath f{b, b.getF64Type()};
  return expansionOf(op)(f, operands);
}
