//===- AllMathTest.cpp - error bounds of the math that replaces libm on GPUs -----------//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of expandAllMath is compiled for the host, which carries out its operations exactly as GPUs do, and compared
// with libm in the next wider precision: double for f32, x87's 64 bits of mantissa for f64. MathApprox.h
// (passes/Lowering/MathApprox) promises the bounds that are checked here.
//
//===----------------------------------------------------------------------===//
#include "CompiledArithmetic.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

using Long = long double;

namespace {
struct Function {
  const char *op;
  Long (*reference)(Long);
  double ulps32, ulps64;
  double limit32 = INFINITY, limit64 = INFINITY; ///< largest |x| that is checked
};
} // namespace

static const Function functions[] = {
    {"math.exp", std::exp, 1, 1},
    {"math.expm1", std::expm1, 2, 2},
    {"math.log", std::log, 1, 1},
    {"math.log1p", std::log1p, 2, 2},
    {"math.sin", std::sin, 2, 1, 0x1p48, 0x1p30},
    {"math.cos", std::cos, 2, 1, 0x1p48, 0x1p30},
    {"math.tan", std::tan, 1, 4, 0x1p30, 0x1p30},
    {"math.asin", std::asin, 1, 4},
    {"math.acos", std::acos, 1, 4},
    {"math.atan", std::atan, 1, 2},
    {"math.sinh", std::sinh, 1, 2},
    {"math.cosh", std::cosh, 1, 2},
    {"math.tanh", std::tanh, 3, 4},
    {"math.asinh", std::asinh, 1, 4},
    {"math.acosh", std::acosh, 1, 4},
    {"math.atanh", std::atanh, 1, 4},
    {"math.erf", std::erf, 2, 2},
    {"math.erfc", std::erfc, 4, 8},
};

/// Returns |got - want| in units in the last place of `want`.
template <typename T>
static double ulps(T got, Long want) {
  if (T(want) == got || (std::isnan(got) && std::isnan(want)))
    return 0;
  if (std::isnan(got) || std::isnan(want) || std::isinf(got) || std::isinf(T(want)))
    return INFINITY;
  int exponent = want == 0 ? std::numeric_limits<T>::min_exponent - 1
                           : std::max(std::ilogb(want), std::numeric_limits<T>::min_exponent - 1);
  return double(std::fabs(Long(got) - want) / std::ldexp(Long(1), exponent - std::numeric_limits<T>::digits + 1));
}

template <typename T, typename Bits>
static T fromBits(Bits bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static std::string allFunctions(const std::string &type) {
  std::string text;
  for (const Function &f : functions)
    text += loopOver(std::string(f.op).substr(5), "%r = " + std::string(f.op) + " %x : " + type, false, type, type);
  return text;
}

template <typename T>
static void check(const std::vector<T> &in, const CompiledArithmetic &compiled, bool wide) {
  std::vector<T> out(in.size());
  for (const Function &f : functions) {
    double limit = wide ? f.limit64 : f.limit32, bound = wide ? f.ulps64 : f.ulps32, worst = 0;
    T at = 0;
    compiled.find(std::string(f.op).substr(5))(in.data(), nullptr, out.data(), in.size());
    for (auto [x, y] : llvm::zip_equal(in, out)) {
      if (std::fabs(x) > limit && !std::isinf(x))
        continue;
      double error = ulps<T>(y, f.reference(Long(x)));
      if (error > worst)
        worst = error, at = x;
    }
    EXPECT_LE(worst, bound) << f.op << " at " << at;
    std::printf("%-12s %s %.3f ulp at %.17g\n", f.op, wide ? "f64" : "f32", worst, double(at));
  }
}

TEST(AllMath, F32) {
  std::vector<float> in; // every 4099th of all 2^32 bit patterns of f32: one million
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 4099)
    in.push_back(fromBits<float>(uint32_t(bits)));
  for (float x : {0.f, -0.f, 1.f, -1.f, INFINITY, -INFINITY, NAN})
    in.push_back(x);
  check(in, CompiledArithmetic(allFunctions("f32")), false);
}

TEST(AllMath, F64) {
  std::vector<double> in = {0., -0., 1., -1., 0.5, -0.5, INFINITY, -INFINITY, NAN};
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i)
    in.push_back(fromBits<double>(random())); // random bits reach every exponent
  std::uniform_real_distribution<double> near(-4, 4), middle(-40, 40), far(-750, 750), whole(-1e6, 1e6);
  for (int i = 0; i < 100000; ++i) {
    in.push_back(near(random)), in.push_back(middle(random)), in.push_back(far(random)), in.push_back(whole(random));
    in.push_back(1 + near(random) * 1e-3);
  }
  for (int i = -2000; i <= 2000; ++i) { // the neighbours of multiples of pi/4
    double x = i * 0.78539816339744831;
    in.push_back(x), in.push_back(std::nextafter(x, 1e9));
  }
  check(in, CompiledArithmetic(allFunctions("f64")), true);
}

/// Checks pow and fmod on every pair of awkward numbers and on random pairs.
template <typename T>
static void checkBinary(const char *type, double powBound) {
  auto binary = [&](const std::string &name, const std::string &op) {
    return loopOver(name, "%r = " + op + " %x, %y : " + type, true, type, type);
  };
  CompiledArithmetic compiled(binary("pow", "math.powf") + binary("fmod", "arith.remf"));
  constexpr T infinity = std::numeric_limits<T>::infinity(), least = std::numeric_limits<T>::denorm_min(),
              most = std::numeric_limits<T>::max();
  const T odd[] = {0,      T(-0.0),  1,         -1,     2,     -2,     3,    -3,    T(0.5),  T(-0.5),
                   T(1.5), infinity, -infinity, T(NAN), least, -least, most, -most, T(1e15), T(7)};
  std::vector<T> x, y;
  for (T a : odd)
    for (T b : odd)
      x.push_back(a), y.push_back(b);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> base(0, 10), exponent(-40, 40), logBase(-20, 20), any(-100, 100);
  for (int i = 0; i < 300000; ++i) {
    x.push_back(T(base(random))), y.push_back(T(exponent(random)));
    x.push_back(T(std::exp(logBase(random)))), y.push_back(T(exponent(random) / 10));
    x.push_back(T(1 + any(random) * 1e-5)), y.push_back(T(any(random) * 1e3));
    x.push_back(T(any(random))), y.push_back(T(std::rint(any(random) / 10)));
  }
  std::vector<T> out(x.size());
  compiled.find("pow")(x.data(), y.data(), out.data(), x.size());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    Long want = std::pow(Long(x[i]), Long(y[i]));
    double error = ulps<T>(out[i], want);
    EXPECT_LE(error, powBound) << "pow " << x[i] << ' ' << y[i] << " is " << out[i] << ", not " << double(want);
    if (want == 0 && out[i] == 0) {
      EXPECT_EQ(std::signbit(want), std::signbit(out[i])) << "pow " << x[i] << ' ' << y[i];
    }
    worst = std::max(worst, error);
  }
  std::printf("math.powf    %s %.3f ulp\n", type, worst);
  compiled.find("fmod")(x.data(), y.data(), out.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    T want = std::fmod(x[i], y[i]);
    EXPECT_TRUE(out[i] == want || (std::isnan(out[i]) && std::isnan(want)))
        << "fmod " << x[i] << ' ' << y[i] << " is " << out[i] << ", not " << want;
  }
}
TEST(AllMath, BinaryF32) { checkBinary<float>("f32", 1); }
TEST(AllMath, BinaryF64) { checkBinary<double>("f64", 1); }

TEST(AllMath, PowersOfIntegersAreExact) {
  std::vector<double> x, y, want;
  for (int64_t base = -1000; base <= 1000; ++base) {
    double power = 1;
    for (int e = 0; std::fabs(power) <= 0x1p53 && e < 64; ++e, power *= double(base))
      x.push_back(double(base)), y.push_back(e), want.push_back(power);
  }
  CompiledArithmetic compiled(loopOver("pow", "%r = math.powf %x, %y : f64", true, "f64", "f64"));
  std::vector<double> out(x.size());
  compiled.find("pow")(x.data(), y.data(), out.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(out[i], want[i]) << x[i] << " to the " << y[i];
}

/// f(x) is computed in f32 and rounded to f16 or bf16. For every value of both types it is within one unit of the
/// exact value, rounded.
TEST(AllMath, HalfResultsWithinOneUlp) {
  CompiledArithmetic compiled(allFunctions("f32"));
  for (bool brain : {false, true}) {
    const llvm::fltSemantics &semantics = brain ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
    std::vector<float> in, out(1 << 16);
    for (uint32_t bits = 0; bits < (1 << 16); ++bits)
      in.push_back(llvm::APFloat(semantics, llvm::APInt(16, bits)).convertToFloat());
    auto rounded = [&](double v) { // maps a value to an ordinal, so that neighbours differ by one
      llvm::APFloat f(v);
      bool loses;
      f.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
      int64_t bits = f.bitcastToAPInt().getZExtValue();
      return bits & 0x8000 ? -(bits & 0x7fff) : bits;
    };
    for (const Function &f : functions) {
      compiled.find(std::string(f.op).substr(5))(in.data(), nullptr, out.data(), in.size());
      for (auto [x, y] : llvm::zip_equal(in, out)) {
        if (std::fabs(x) > f.limit32 && !std::isinf(x))
          continue;
        double want = double(f.reference(Long(x)));
        if (std::isnan(want) || std::isnan(y)) {
          EXPECT_EQ(std::isnan(want), std::isnan(y)) << f.op << ' ' << x;
          continue;
        }
        EXPECT_LE(std::abs(rounded(y) - rounded(want)), 1) << f.op << ' ' << x;
      }
    }
  }
}
