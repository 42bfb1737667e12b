// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wgmma of 8-bit floats: every layout is compared with a model of its sums that is written in integers, and
// long sums show what so few bits lose.
#include "HopperHarness.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <functional>
#include <random>

using namespace mpc::test;

namespace {

const llvm::fltSemantics &semanticsOf(const std::string &name) {
  return name == "e4m3" ? llvm::APFloat::Float8E4M3FN() : llvm::APFloat::Float8E5M2();
}
double valueOf(const std::string &format, uint8_t code) {
  return llvm::APFloat(semanticsOf(format), llvm::APInt(8, code)).convertToDouble();
}
/// Subnormals have the exponent of the smallest normal number.
int exponentOf(const std::string &format, double v) {
  return std::max(std::ilogb(v), llvm::APFloat::semanticsMinExponent(semanticsOf(format)));
}

/// K-major tiles in swizzled shared memory (0 means no swizzle), by bytes.
struct Layout {
  int swizzle, leading, stride;
  int plain(int row, int k) const {
    return row / 8 * stride + row % 8 * (16 << swizzle) + (swizzle == 0 ? k / 16 * leading + k % 16 : k);
  }
  int offset(int row, int k) const {
    int p = plain(row, k);
    return p ^ ((p >> 7) & ((1 << swizzle) - 1)) << 4;
  }
  std::string text() const { return TileLayout{swizzle, leading, stride, false}.text(); }
};

/// One warpgroup multiplies 64 x k by k x n, `passes` times. With `promotes` each pass has a sum of its own,
/// and f32 holds the total.
struct Product {
  Layout a, b;
  int n, k;
  std::string typeA = "e4m3", typeB = "e4m3";
  int passes = 1;
  bool promotes = false;

  int bytesOf(const Layout &layout, int rows) const {
    int last = 0;
    for (int r = 0; r < rows; ++r)
      last = std::max(last, layout.plain(r, k - 1));
    return (last + 1 + 2047) / 2048 * 2048;
  }
  std::string text() const {
    int sums = n / 2, groups = promotes ? passes : 1, steps = k / 32 * passes / groups;
    int bytesA = bytesOf(a, 64), bytesB = bytesOf(b, n);
    std::string types = typeB == typeA ? typeA : typeA + " by " + typeB;
    std::string body = "%t = kernel.thread_id\n%sa = kernel.shared " + std::to_string(bytesA) +
                       " {alignment = 1024 : i64}\n%sb = kernel.shared " + std::to_string(bytesB) +
                       " {alignment = 1024 : i64}\n" + copyIn(0, "%sa", bytesA, "a") + copyIn(1, "%sb", bytesB, "b") +
                       "kernel.async_fence\nkernel.barrier\n";
    for (int g = 0; g < groups; ++g) {
      std::string group = std::to_string(g);
      body += "kernel.wgmma_fence\n";
      for (int s = 0; s < steps; ++s) {
        int at = s * 32 % k;
        std::string name = "d" + group + "_" + std::to_string(s);
        body += "%" + name + ":" + std::to_string(sums) + " = kernel.wgmma " + types + " %sa[" +
                std::to_string(a.plain(0, at)) + "] " + a.text() + ", %sb[" + std::to_string(b.plain(0, at)) + "] " +
                b.text() + " (" + (s ? valueList("d" + group + "_" + std::to_string(s - 1), sums) : "") +
                ") : " + typeList("f32", sums) + "\n";
      }
      body += "kernel.wgmma_commit\n%e" + group + ":" + std::to_string(sums) + " = kernel.wgmma_wait 0 (" +
              valueList("d" + group + "_" + std::to_string(steps - 1), sums) + ") : " + typeList("f32", sums) + "\n";
    }
    body += "%out = llvm.getelementptr %b2[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n";
    for (int i = 0; i < sums; ++i) {
      std::string n = std::to_string(i), total = "%e0#" + n;
      for (int g = 1; g < groups; ++g) {
        std::string next = "%f" + std::to_string(g) + "_" + n;
        body += next + " = llvm.fadd " + total + ", %e" + std::to_string(g) + "#" + n + " : f32\n";
        total = next;
      }
      body += "%o" + n + " = llvm.getelementptr %out[" + std::to_string(128 * i) +
              "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\nllvm.store " + total + ", %o" + n + " : f32, !llvm.ptr<1>\n";
    }
    return kernelText(128, 3, body);
  }
};

struct Data {
  std::vector<uint8_t> a, b;     ///< codes [64][k], [n][k]
  std::vector<uint8_t> inA, inB; ///< as they are laid out in shared memory
  std::vector<float> sums;
  Data(const Product &p, const std::function<uint8_t()> &codeA, const std::function<uint8_t()> &codeB)
      : a(64 * p.k), b(p.n * p.k), inA(p.bytesOf(p.a, 64)), inB(p.bytesOf(p.b, p.n)), sums(64 * p.n) {
    for (int r = 0; r < 64; ++r)
      for (int k = 0; k < p.k; ++k)
        inA[p.a.offset(r, k)] = a[r * p.k + k] = codeA();
    for (int j = 0; j < p.n; ++j)
      for (int k = 0; k < p.k; ++k)
        inB[p.b.offset(j, k)] = b[j * p.k + k] = codeB();
  }
  void run(const Product &p) { EmulatedKernel(p.text()).run({1}, inA, inB, sums); }
};

/// Truncates to a multiple of 2^exponent.
double cut(double v, int exponent) { return std::ldexp(std::trunc(std::ldexp(v, -exponent)), exponent); }

/// Models one wgmma term by term, as DeepSeek-V3's report and MMA-Sim describe it (runtime/emulator/Float8.cpp).
float expectedSum(const Product &p, const uint8_t *a, const uint8_t *b, float c) {
  int largest = c == 0 ? -1000 : std::ilogb(c);
  for (int k = 0; k < 32; ++k) {
    double x = valueOf(p.typeA, a[k]), y = valueOf(p.typeB, b[k]);
    if (x != 0 && y != 0)
      largest = std::max(largest, exponentOf(p.typeA, x) + exponentOf(p.typeB, y));
  }
  double sum = cut(c, largest - 13);
  for (int k = 0; k < 32; ++k)
    sum += cut(valueOf(p.typeA, a[k]) * valueOf(p.typeB, b[k]), largest - 13);
  return sum == 0 ? 0 : float(cut(sum, std::max(std::ilogb(sum), largest) - 13));
}

void PrintTo(const Product &p, std::ostream *out) {
  *out << p.typeA << " " << p.a.text() << " " << p.typeB << " " << p.b.text() << " n = " << p.n;
}

constexpr Layout kPlain = {3, 16, 1024};

} // namespace

class EmulatorWgmmaFloat8 : public testing::TestWithParam<Product> {};
INSTANTIATE_TEST_SUITE_P(Layouts, EmulatorWgmmaFloat8,
                         testing::Values(Product{kPlain, kPlain, 128, 128},
                                         Product{kPlain, kPlain, 64, 128, "e5m2", "e4m3"},
                                         Product{kPlain, {3, 16, 2048}, 256, 64, "e4m3", "e5m2"},
                                         Product{kPlain, {2, 16, 512}, 40, 64, "e5m2", "e5m2"},
                                         Product{{1, 16, 256}, {1, 16, 512}, 8, 32, "e4m3", "e4m3"},
                                         Product{{0, 128, 256}, {0, 1024, 128}, 64, 32, "e5m2", "e4m3"}));

TEST_P(EmulatorWgmmaFloat8, AgreesWithItsModel) {
  const Product &p = GetParam();
  std::mt19937 random(5);
  // The codes are all finite ones: they include exponents far apart, subnormals and zeros.
  auto code = [&](const std::string &format) {
    for (;;)
      if (uint8_t c = uint8_t(random()); std::isfinite(valueOf(format, c)))
        return c;
  };
  Data data(p, [&] { return code(p.typeA); }, [&] { return code(p.typeB); });
  data.run(p);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < p.n / 2; ++i) {
      int row = rowOfSum(t, i), column = columnOfSum(t, i);
      float c = 0;
      for (int k = 0; k < p.k; k += 32)
        c = expectedSum(p, &data.a[row * p.k + k], &data.b[column * p.k + k], c);
      ASSERT_EQ(data.sums[i * 128 + t], c) << row << ", " << column;
    }
}

TEST(EmulatorWgmmaFloat8, SmallIntegersAreExact) {
  Product p{kPlain, kPlain, 64, 128, "e5m2", "e4m3"};
  std::mt19937 random(6);
  // The values are 0, 1, 2, 4 and 0 to 4 with either sign. Sums below 2^13 lose nothing.
  const uint8_t powers[] = {0x00, 0x3c, 0x40, 0x44, 0xbc, 0xc0},
                integers[] = {0x00, 0x38, 0x40, 0x44, 0x48, 0xb8, 0xc4};
  Data data(p, [&] { return powers[random() % 6]; }, [&] { return integers[random() % 7]; });
  data.run(p);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < p.n / 2; ++i) {
      double sum = 0;
      for (int k = 0; k < p.k; ++k)
        sum += valueOf("e5m2", data.a[rowOfSum(t, i) * p.k + k]) * valueOf("e4m3", data.b[columnOfSum(t, i) * p.k + k]);
      ASSERT_EQ(data.sums[i * 128 + t], sum);
    }
}

TEST(EmulatorWgmmaFloat8, InfinitiesAndNaN) {
  Product p{kPlain, kPlain, 8, 32, "e5m2", "e4m3"};
  Data data(p, [] { return uint8_t(0x3c); }, [] { return uint8_t(0x38); });
  auto set = [&](int row, uint8_t code) { data.inA[p.a.offset(row, 5)] = code; };
  set(0, 0x7c), set(1, 0xfc), set(2, 0x7f);
  data.run(p);
  EXPECT_EQ(data.sums[0], INFINITY); // row 0, column 0
  EXPECT_EQ(data.sums[4], -INFINITY);
  EXPECT_TRUE(std::isnan(data.sums[8]));
  EXPECT_EQ(data.sums[12], 32);
}

// The terms are positive and of similar size: the longer the sum, the more is cut off each term. If f32 adds
// up the sums of every 128 of k, only what 128 terms lose is lost.
TEST(EmulatorWgmmaFloat8, LongSumsNeedPromotion) {
  auto worstOf = [](bool promotes) {
    Product p{kPlain, kPlain, 8, 128, "e4m3", "e4m3", /*passes=*/32, promotes};
    std::mt19937 random(7);
    auto code = [&] { return uint8_t(0x39 + random() % 7); }; // 9/8 to 15/8
    Data data(p, code, code);
    data.run(p);
    double worst = 0;
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < p.n / 2; ++i) {
        double sum = 0;
        for (int k = 0; k < p.k; ++k)
          sum += p.passes * valueOf("e4m3", data.a[rowOfSum(t, i) * p.k + k]) *
                 valueOf("e4m3", data.b[columnOfSum(t, i) * p.k + k]);
        worst = std::max(worst, std::abs(data.sums[i * 128 + t] - sum) / sum);
      }
    return worst;
  };
  EXPECT_GT(worstOf(false), 0.05);
  EXPECT_LT(worstOf(true), 0.01);
}
