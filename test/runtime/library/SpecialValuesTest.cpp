//===- SpecialValuesTest.cpp - Infinities, NaN, subnormals, refusals ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Convert.h"
#include "Providers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mpc::test {
namespace {

class SpecialValuesTest : public testing::TestWithParam<Provider> {
protected:
  void SetUp() override { library = GetParam().open(2); }
  const mpc_library *library = nullptr;
};

Desc matmul(int32_t type, int32_t out, int64_t m, int64_t n, int64_t k) {
  Desc d = {};
  d.op = MPC_MATMUL;
  d.type_a = d.type_b = type;
  d.type_out = out;
  d.batch = 1;
  d.m = m;
  d.n = n;
  d.k = k;
  return d;
}

Desc convolution(int32_t op, int32_t type) { return test::convolution(op, type, 2, 16, 16, 8, 8); }

TEST_P(SpecialValuesTest, EveryF16ValueWidensExactly) {
  Problem problem(library, matmul(MPC_F16, MPC_F32, 65536, 1, 1), 0);
  std::vector<double> values;
  for (int bits = 0; bits < 65536; ++bits) {
    const uint16_t pattern = uint16_t(bits);
    values.push_back(decode(MPC_F16, &pattern, 0));
    problem.set(0, bits, values.back());
  }
  problem.set(1, 0, 1.0);
  problem.run();
  for (int bits = 0; bits < 65536; ++bits)
    if (std::isnan(values[size_t(bits)]))
      ASSERT_TRUE(std::isnan(problem.at(bits))) << bits;
    else
      ASSERT_EQ(problem.at(bits), values[size_t(bits)]) << bits;
}

TEST_P(SpecialValuesTest, F16OverflowsToInfinityAndRoundsToEven) {
  Problem problem(library, matmul(MPC_F16, MPC_F16, 8, 1, 2), 0);
  // 65504 is the largest f16. 65520 is halfway to 2^16 and rounds to infinity; smaller numbers round down.
  const double pairs[8][2] = {{65504, 16}, {65504, 15.9921875}, {-65504, -16}, {65504, 65504},
                              {2048, 1},   {2048, 3},           {65504, -16},  {0, 0}};
  const double expected[8] = {INFINITY, 65504, -INFINITY, INFINITY, 2048, 2052, 65472, 0};
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t k = 0; k < 2; ++k)
      problem.set(0, row * 2 + k, roundTo(MPC_F16, pairs[row][k]));
  problem.fill(1, 1.0);
  problem.run();
  for (int64_t row = 0; row < 8; ++row)
    EXPECT_EQ(problem.at(row), row == 6 ? roundTo(MPC_F16, 65488) : expected[row]) << row;
}

TEST_P(SpecialValuesTest, F16SubnormalsAreKept) {
  for (int64_t n : {1, 16, 40}) {
    Problem problem(library, matmul(MPC_F16, MPC_F16, 3, n, 1), 0);
    const double rows[3] = {0x1p-24, 0x3p-24, 0x1p-15};
    for (int64_t row = 0; row < 3; ++row)
      problem.set(0, row, rows[row]);
    problem.fill(1, 1.0);
    problem.run();
    for (int64_t i = 0; i < 3 * n; ++i)
      EXPECT_EQ(problem.at(i), rows[i / n]);
    problem.fill(1, 0.5); // 2^-25 is halfway between 0 and the smallest subnormal and rounds to even
    problem.run();
    EXPECT_EQ(problem.at(0), 0.0);
    EXPECT_EQ(problem.at(n), 0x1p-23); // 1.5 units round to even
  }
}

TEST_P(SpecialValuesTest, NanAndInfinityPropagate) {
  for (int32_t type : {MPC_F16, MPC_BF16, MPC_F32}) {
    for (int32_t op : {MPC_CONV_FORWARD, MPC_CONV_INPUT_GRAD, MPC_CONV_WEIGHT_GRAD}) {
      Problem problem(library, convolution(op, type), 1);
      problem.fill(0, 1.0);
      problem.fill(1, 1.0);
      problem.set(0, 5, NAN);
      problem.run();
      EXPECT_TRUE(std::isnan(problem.at(op == MPC_CONV_WEIGHT_GRAD ? 5 * 9 + 4 : 5))) << op << ' ' << type;
      problem.set(0, 5, INFINITY);
      problem.run();
      EXPECT_EQ(problem.at(op == MPC_CONV_WEIGHT_GRAD ? 5 * 9 + 4 : 5), INFINITY) << op << ' ' << type;
    }
    Problem problem(library, matmul(type, type, 5, 33, 7), 1);
    problem.fill(0, 1.0);
    problem.fill(1, 1.0);
    problem.set(0, 2 * 7 + 3, NAN);
    problem.set(0, 3 * 7 + 3, INFINITY);
    problem.run();
    for (int64_t column = 0; column < 33; ++column) {
      EXPECT_EQ(problem.at(33 + column), 7.0);
      EXPECT_TRUE(std::isnan(problem.at(2 * 33 + column)));
      EXPECT_EQ(problem.at(3 * 33 + column), INFINITY);
    }
  }
}

TEST_P(SpecialValuesTest, RefusalsCarryASentence) {
  char error[200];
  Desc d = matmul(MPC_I8, MPC_I8, 1, 1, 1);
  EXPECT_EQ(library->create(&d, error, sizeof error), nullptr);
  EXPECT_STRNE(error, "");
  d = convolution(MPC_CONV_FORWARD, MPC_F32);
  d.out[0] = 7;
  error[0] = 0;
  EXPECT_EQ(library->create(&d, error, sizeof error), nullptr);
  EXPECT_STREQ(error, "The output extent does not follow from input, kernel, stride, dilation and padding.");
  char small[8];
  EXPECT_EQ(library->create(&d, small, sizeof small), nullptr);
  EXPECT_STREQ(small, "The out");
}

INSTANTIATE_TEST_SUITE_P(All, SpecialValuesTest, testing::ValuesIn(providers()),
                         [](const auto &info) { return std::string(info.param.name); });

// This is the fallback for processors without conversion instructions.
TEST(ConvertTest, SoftwareF16AgreesWithTheDefinition) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t pattern = uint16_t(bits);
    const double value = decode(MPC_F16, &pattern, 0);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(generic::widenF16(pattern)));
      continue;
    }
    ASSERT_EQ(generic::widenF16(pattern), value);
    ASSERT_EQ(generic::narrowF16(float(value)), pattern);
  }
  for (uint64_t bits = 0; bits < 0x100000000; bits += 4093) {
    const float value = generic::floatOfBits(uint32_t(bits));
    uint16_t half, brain;
    if (std::isnan(value)) {
      EXPECT_GT(generic::narrowF16(value) & 0x7fff, 0x7c00);
      EXPECT_GT(generic::narrowBf16(value) & 0x7fff, 0x7f80);
      continue;
    }
    encode(MPC_F16, &half, 0, roundTo(MPC_F16, value));
    encode(MPC_BF16, &brain, 0, roundTo(MPC_BF16, value));
    ASSERT_EQ(generic::narrowF16(value), half) << value;
    ASSERT_EQ(generic::narrowBf16(value), brain) << value;
  }
}

} // namespace
} // namespace mpc::test
