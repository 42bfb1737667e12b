//===- WinogradTest.cpp - Winograd's convolutions against the reference ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The provider under test computes everything by Winograd's tiles, also what is faster without.
//
//===----------------------------------------------------------------------===//
#include "Winograd.h"
#include "Kernels.h"
#include "Providers.h"

#include "mpc/cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace mpc::test {
namespace {

template <int Threads>
const mpc_library *winogradLibrary() {
  return libraryOf<winograd::makeWinograd, Threads>();
}

/// Changes a convolution to one of 5x5 taps with strides of 2.
Desc strided(Desc d) {
  for (int i = 0; i < 2; ++i) {
    d.kernel[i] = 5;
    d.stride[i] = d.pad_low[i] = d.pad_high[i] = 2;
    d.out[i] = (d.in[i] - 1) / 2 + 1;
  }
  return d;
}

/// Draws kernels of 3x3 to 7x7, strides, channels that fill vectors or not, maps that fill tiles or not, padding on
/// either side, and an epilogue.
Desc draw(int32_t op, int32_t type, uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto upTo = [&](int64_t low, int64_t high) { return low + int64_t(engine() % uint64_t(high - low + 1)); };
  const auto channels = [&] { return upTo(0, 1) ? 16 * upTo(1, 4) : upTo(16, 70); };
  Desc d = convolution(op, type, upTo(1, 3), channels(), channels(), 0, 0);
  if (type != MPC_F32 && upTo(0, 2) == 0)
    d.type_out = MPC_F32;
  const int64_t stride = upTo(1, 2);
  const bool small = upTo(0, 1) != 0;
  for (int i = 0; i < 2; ++i) {
    d.stride[i] = stride;
    d.kernel[i] = small ? stride + 2 : upTo(stride + 2, 7);
    d.pad_low[i] = upTo(0, d.kernel[i] - 1);
    d.pad_high[i] = upTo(0, d.kernel[i] - 1);
    d.in[i] = std::max<int64_t>(1, d.kernel[i] - d.pad_low[i] - d.pad_high[i]) + upTo(0, 9);
    d.out[i] = (d.in[i] + d.pad_low[i] + d.pad_high[i] - d.kernel[i]) / stride + 1;
  }
  if (op == MPC_CONV_WEIGHT_GRAD)
    return d;
  d.has_bias = upTo(0, 1) != 0;
  d.type_bias = upTo(0, 1) ? int32_t(MPC_F32) : d.type_out;
  d.has_addend = upTo(0, 1) != 0;
  d.activation = upTo(0, 1) ? MPC_ACT_RELU : MPC_ACT_NONE;
  return d;
}

using Case = std::tuple<int32_t /*op*/, int32_t /*type*/>;
class WinogradTest : public testing::TestWithParam<Case> {
protected:
  const int32_t op = std::get<0>(GetParam()), type = std::get<1>(GetParam());
};

TEST_P(WinogradTest, MatchesReferenceOnRandomShapes) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Desc desc = draw(op, type, seed);
    SCOPED_TRACE(describe(desc));
    ASSERT_TRUE(winograd::computes(desc));
    Problem problem(winogradLibrary<2>(), desc, seed);
    problem.run();
    const std::vector<char> first = problem.result();
    EXPECT_EQ(problem.check(), "");
    problem.run(true, 0x3c);
    EXPECT_EQ(problem.result(), first) << "with other scratch, and the addend in the result's buffer";
    EXPECT_EQ(problem.integrity(), "");
    Problem other(winogradLibrary<5>(), desc, seed);
    other.run();
    EXPECT_EQ(other.result(), first) << "on five threads";
  }
}

TEST_P(WinogradTest, EveryInstructionSetMatchesReference) {
  const std::string best = generic::kernels<float>().name;
#define MPC_LEVEL(LEVEL, NAME) #LEVEL,
  for (const char *isa : {"baseline", MPC_CPU_LEVELS(MPC_LEVEL)})
#undef MPC_LEVEL
    for (uint64_t seed = 100; seed < 110 && generic::useKernels(isa); ++seed) {
      const Desc desc = draw(op, type, seed);
      SCOPED_TRACE(describe(desc) + " on " + isa);
      Problem problem(winogradLibrary<2>(), desc, seed);
      problem.run();
      EXPECT_EQ(problem.check(), "");
      EXPECT_EQ(problem.integrity(), "");
    }
  generic::useKernels(best.c_str());
}

// These shapes have more tiles than a block or a piece, or so many channels that a task owns columns instead of tiles;
// the last ones have classes of results, of which two are empty in a map of one row.
TEST_P(WinogradTest, MatchesReferenceOnManyTilesAndManyChannels) {
  for (const Desc &desc : {convolution(op, type, 1, 16, 16, 150, 121), convolution(op, type, 2, 160, 144, 9, 13),
                           convolution(op, type, 1, 168, 180, 5, 4), strided(convolution(op, type, 1, 130, 144, 1, 13)),
                           strided(convolution(op, type, 2, 130, 144, 6, 7))}) {
    SCOPED_TRACE(describe(desc));
    Problem problem(winogradLibrary<2>(), desc, 1);
    problem.run();
    EXPECT_EQ(problem.check(), "");
    EXPECT_EQ(problem.integrity(), "");
  }
}

// An infinity may become NaN, and it spreads in its tiles, but no result that depends on it stays finite.
TEST_P(WinogradTest, NumbersThatAreNotFiniteDoNotVanish) {
  for (double value : {double(INFINITY), double(NAN)}) {
    Problem problem(winogradLibrary<2>(), convolution(op, type, 1, 16, 16, 10, 10), 1);
    const int64_t row = 5, column = 6, channel = 3;
    problem.set(0, (row * 10 + column) * 16 + channel, value);
    problem.run();
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 3; ++j)
        for (int64_t k = 0; k < 16; ++k) {
          const int64_t at = op == MPC_CONV_WEIGHT_GRAD ? (k * 16 + channel) * 9 + i * 3 + j
                                                        : ((row + i - 1) * 10 + column + j - 1) * 16 + k;
          ASSERT_FALSE(std::isfinite(problem.at(at))) << value << ' ' << i << ' ' << j << ' ' << k;
        }
  }
}

// A tile reads pixels that none of its windows reads: here the last row and column.
TEST_P(WinogradTest, NumbersThatNoWindowReadsDoNotMatter) {
  if (op == MPC_CONV_INPUT_GRAD)
    return;
  Desc desc = convolution(op, type, 1, 16, 16, 15, 15);
  for (int i = 0; i < 2; ++i) {
    desc.kernel[i] = 4;
    desc.stride[i] = 2;
    desc.pad_low[i] = desc.pad_high[i] = 0;
    desc.out[i] = 6;
  }
  Problem problem(winogradLibrary<2>(), desc, 1);
  problem.set(0, (14 * 15 + 3) * 16, NAN);
  problem.set(0, (3 * 15 + 14) * 16, NAN);
  problem.run();
  for (int64_t i = 0; i < sizes(desc).out; ++i)
    ASSERT_TRUE(std::isfinite(problem.at(i))) << i;
}

// The error of random sums, relative to their norm. Direct sums have 2e-7 to 4e-7.
TEST_P(WinogradTest, KeepsTheAccuracyOfF32) {
  if (type != MPC_F32)
    return;
  for (const Desc &desc : {convolution(op, type, 2, 64, 64, 16, 16), convolution(op, type, 8, 16, 16, 56, 56)}) {
    SCOPED_TRACE(describe(desc));
    Problem tiled(winogradLibrary<2>(), desc, 1), direct(providers().front().open(2), desc, 1);
    tiled.run();
    direct.run();
    double error = 0, norm = 0;
    for (int64_t i = 0; i < sizes(desc).out; ++i) {
      error += std::pow(tiled.at(i) - direct.at(i), 2);
      norm += std::pow(direct.at(i), 2);
    }
    EXPECT_LT(std::sqrt(error / norm), 2e-6);
  }
}

// Layers of VGG-16 and ResNet-50, and one of 1x1 maps, whose tiles are nearly empty.
TEST(Winograd, IsFasterForMapsThatFillTiles) {
  for (int32_t op : {MPC_CONV_FORWARD, MPC_CONV_INPUT_GRAD, MPC_CONV_WEIGHT_GRAD}) {
    EXPECT_TRUE(winograd::isFaster(convolution(op, MPC_F32, 2, 256, 256, 56, 56), true));
    EXPECT_TRUE(winograd::isFaster(convolution(op, MPC_F16, 4, 64, 64, 56, 56), true));
    EXPECT_TRUE(winograd::isFaster(convolution(op, MPC_BF16, 2, 256, 256, 56, 56), true));
    EXPECT_FALSE(winograd::isFaster(convolution(op, MPC_F32, 32, 512, 512, 1, 1), true));
    EXPECT_FALSE(winograd::isFaster(convolution(op, MPC_BF16, 1, 512, 512, 7, 7), true));
  }
}

// 64 threads do not get memory that they cannot use, and no primitive gets more than its limit.
TEST(Winograd, BoundsItsScratch) {
  for (int32_t op : {MPC_CONV_FORWARD, MPC_CONV_INPUT_GRAD, MPC_CONV_WEIGHT_GRAD}) {
    EXPECT_LT(winograd::makeWinograd(convolution(op, MPC_F16, 32, 256, 256, 8, 8), 2)->scratchBytes(), size_t(16)
                                                                                                           << 20);
    EXPECT_LT(winograd::makeWinograd(convolution(op, MPC_F32, 2, 512, 512, 14, 14), 64)->scratchBytes(), size_t(128)
                                                                                                             << 20);
    EXPECT_EQ(winograd::makeWinograd(convolution(op, MPC_F32, 64, 2048, 2048, 56, 56), 64), nullptr);
  }
}

TEST(Winograd, TakesOnlyWhatItComputes) {
  const Desc right = convolution(MPC_CONV_FORWARD, MPC_F32, 1, 16, 20, 8, 8);
  EXPECT_TRUE(winograd::computes(right));
  const auto refuses = [&](auto change) {
    Desc desc = right;
    change(desc);
    return !winograd::computes(desc);
  };
  EXPECT_TRUE(refuses([](Desc &d) { d.kernel[1] = 2; }));
  EXPECT_TRUE(refuses([](Desc &d) { d.kernel[0] = 8; }));
  EXPECT_TRUE(refuses([](Desc &d) { d.pad_low[0] = 3; })); // a whole window would lie in the padding
  EXPECT_TRUE(refuses([](Desc &d) { d.stride[0] = 2; }));
  EXPECT_TRUE(refuses([](Desc &d) { d.stride[0] = d.stride[1] = 2; })); // which leaves 3 taps in parts of 2 and 1
  EXPECT_TRUE(refuses([](Desc &d) { d.dilation[1] = 2; }));
  EXPECT_TRUE(refuses([](Desc &d) { d.groups = 2; }));
  EXPECT_TRUE(refuses([](Desc &d) { d.spatial = 1; }));
  EXPECT_TRUE(refuses([](Desc &d) { d.C = 15; }));
  EXPECT_TRUE(refuses([](Desc &d) { d.type_a = d.type_b = d.type_out = MPC_F64; }));
}

std::string caseName(const testing::TestParamInfo<Case> &info) {
  static const char *const ops[] = {"", "", "Forward", "InputGrad", "WeightGrad"};
  static const char *const types[] = {"", "F16", "Bf16", "F32"};
  return std::string(ops[std::get<0>(info.param)]) + types[std::get<1>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, WinogradTest,
                         testing::Combine(testing::Values(MPC_CONV_FORWARD, MPC_CONV_INPUT_GRAD, MPC_CONV_WEIGHT_GRAD),
                                          testing::Values(MPC_F16, MPC_BF16, MPC_F32)),
                         caseName);

} // namespace
} // namespace mpc::test
