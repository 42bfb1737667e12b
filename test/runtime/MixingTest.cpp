// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mixup and cutmix: what is drawn for a batch, and what it makes of the samples in their buffer.
#include "runtime/core/data/Mixing.h"
#include "LogisticProgram.h"
#include "runtime/core/Transpose.h"
#include "runtime/host/Threads.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
constexpr int64_t kSamples = 5, kChannels = 3, kHeight = 6, kWidth = 7;

/// The pictures of a batch in a stored order and a type.
struct Batch {
  Port port;
  std::vector<double> values; // in logical order, as the type holds them
  std::vector<std::byte> stored;

  Batch(mpc_dtype dtype, const Shape &shape, const std::vector<int64_t> &permutation) {
    port.dtype = dtype;
    port.shape = shape;
    port.permutation = permutation;
    std::mt19937 random(1);
    std::vector<std::byte> logical(size_t(elementsOf(shape)) * sizeOf(dtype));
    stored.resize(logical.size());
    for (size_t i = 0; i < size_t(elementsOf(shape)); ++i) {
      storeDouble(dtype, logical.data(), i, std::normal_distribution<>()(random));
      values.push_back(loadDouble(dtype, logical.data(), i));
    }
    Transpose(shape, permutation).toStored(logical.data(), stored.data(), sizeOf(dtype));
  }
  void mix(const Mix &mix, bool pixels, int threads) {
    std::vector<std::byte> scratch;
    Threads readers(threads, Threads::Backend::OwnPool);
    mixSamples(port, kSamples, mix, pixels, stored.data(), scratch, readers);
  }
  double at(size_t i) const {
    std::vector<std::byte> logical(stored.size());
    Transpose(port.shape, port.permutation).toLogical(stored.data(), logical.data(), sizeOf(port.dtype));
    return loadDouble(port.dtype, logical.data(), i);
  }
};

std::string refusal(std::string steps) {
  const Error error = errorOf([&] { Mixing::take(steps, "x"); });
  EXPECT_EQ(error.where(), "--augment");
  return error.what();
}
} // namespace

TEST(Mixing, StepsAreTakenOutOfTheOthers) {
  std::string steps = "mixup:0.2,random-crop:4,cutmix,flip";
  const Mixing both = Mixing::take(steps, "x");
  EXPECT_EQ(steps, "random-crop:4,flip");
  EXPECT_EQ(both.text(), "mixup:0.2,cutmix:1");
  EXPECT_EQ(both.input, "x");
  steps = "mixup";
  EXPECT_EQ(Mixing::take(steps, "x").text(), "mixup:1");
  EXPECT_EQ(steps, "");
  steps = "flip";
  EXPECT_TRUE(Mixing::take(steps, "x").empty());
  for (const char *wrong : {"mixup:0", "cutmix:-1", "mixup:1:2"})
    EXPECT_NE(refusal(wrong).find(concat("'", wrong, "' does not give one ALPHA above 0")), std::string::npos) << wrong;
  for (const char *wrong : {"mixup:nan", "mixup:", "cutmix:1e999", "mixup:two"})
    EXPECT_NE(refusal(wrong).find("is no number"), std::string::npos) << wrong;
  EXPECT_NE(refusal("mixup,flip,mixup").find("has 'mixup' twice"), std::string::npos);
}

// The bounds are 4.5 standard deviations of the sample mean and of the sample variance, whose own variance is at most
// (1/16 - variance^2) / n because a fourth central moment of numbers in [0, 1] is at most 1/16.
TEST(Mixing, SharesHaveABetaDistribution) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<> uniform;
  for (double alpha : {0.01, 0.2, 0.5, 1.0, 2.0, 8.0, 300.0}) {
    constexpr int n = 100'000;
    const double variance = 1 / (4 * (2 * alpha + 1));
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const double share = symmetricBeta(alpha, uniform(random), uniform(random));
      ASSERT_TRUE(share >= 0 && share <= 1) << alpha << " " << share;
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / n, 0.5, 4.5 * std::sqrt(variance / n)) << alpha;
    EXPECT_NEAR(squares / n, variance, 4.5 * std::sqrt((1.0 / 16 - variance * variance) / n)) << alpha;
    EXPECT_LT(std::abs(squares / n / variance - 1), 0.05) << alpha;
  }
  // Beta(1, 1) is uniform and Beta(1/2, 1/2) the arcsine law, at 4.5 standard deviations of a share of n numbers.
  for (double alpha : {1.0, 0.5})
    for (double limit : {0.02, 0.1, 0.4, 0.75}) {
      constexpr int n = 50'000;
      const double wanted = alpha == 1 ? limit : 2 / M_PI * std::asin(std::sqrt(limit));
      int below = 0;
      for (int i = 0; i < n; ++i)
        below += symmetricBeta(alpha, uniform(random), uniform(random)) < limit;
      EXPECT_NEAR(double(below) / n, wanted, 4.5 * std::sqrt(wanted * (1 - wanted) / n)) << alpha << " " << limit;
    }
  for (double first : {0.0, 0.999999})
    for (double second : {0.0, 0.25, 0.5, 0.75, 0.999999})
      for (double alpha : {1e-300, 1e-3, 1.0, 1e6, 1e300}) {
        const double share = symmetricBeta(alpha, first, second);
        EXPECT_TRUE(share >= 0 && share <= 1) << alpha << " " << first << " " << second << ": " << share;
      }
}

TEST(Mixing, DrawsAreAFunctionOfSeedEpochAndBatch) {
  std::set<double> shares;
  const Mixing mixup{"x", 1, 0};
  for (uint64_t seed : {0, 1})
    for (int64_t epoch : {0, 1})
      for (int64_t batch : {0, 1, 2}) {
        const Mix mix = mixup.draw(seed, epoch, batch, 32, 32);
        EXPECT_FALSE(mix.box);
        EXPECT_EQ(mixup.draw(seed, epoch, batch, 8, 8).own, mix.own); // the size of pictures does not matter
        shares.insert(mix.own);
      }
  EXPECT_EQ(shares.size(), 12u);
  // Where both are given, each is as likely: 4.5 standard deviations of 4000 draws.
  const Mixing both{"x", 0.2, 1};
  int cuts = 0;
  for (int64_t batch = 0; batch < 4000; ++batch)
    cuts += both.draw(5, 0, batch, 32, 32).box.has_value();
  EXPECT_NEAR(cuts, 2000, 4.5 * std::sqrt(1000.0));
}

// torchvision's CutMix, drawn with the standard library: the areas of the boxes have the same distribution. The bound
// is that of Kolmogorov and Smirnov for a probability of 1e-4, 2.23 sqrt(2/n).
TEST(Mixing, BoxesAreThoseOfTorchvision) {
  constexpr int n = 20'000;
  const Mixing mixing{"x", 0, 1};
  std::mt19937_64 random(4);
  std::uniform_real_distribution<> uniform;
  std::vector<double> ours, theirs;
  for (int i = 0; i < n; ++i) {
    const Mix mix = mixing.draw(9, 3, i, 40, 60);
    const Box &box = *mix.box;
    ASSERT_TRUE(0 <= box.top && box.top <= box.bottom && box.bottom <= 40);
    ASSERT_TRUE(0 <= box.left && box.left <= box.right && box.right <= 60);
    const auto area = double((box.bottom - box.top) * (box.right - box.left));
    EXPECT_DOUBLE_EQ(mix.own, 1 - area / 2400);
    ours.push_back(area);
    const double r = 0.5 * std::sqrt(1 - uniform(random));
    const int x = int(uniform(random) * 60), y = int(uniform(random) * 40), w = int(r * 60), h = int(r * 40);
    theirs.push_back(double(std::min(x + w, 60) - std::max(x - w, 0)) *
                     double(std::min(y + h, 40) - std::max(y - h, 0)));
  }
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  double gap = 0;
  for (double area : theirs) {
    auto share = [&](const std::vector<double> &v) {
      return double(std::upper_bound(v.begin(), v.end(), area) - v.begin());
    };
    gap = std::max(gap, std::abs(share(ours) - share(theirs)) / n);
  }
  EXPECT_LT(gap, 2.23 * std::sqrt(2.0 / n));
}

TEST(Mixing, EachSampleIsMixedWithTheOneBefore) {
  const Shape shape = {kSamples, kChannels, kHeight, kWidth};
  const size_t sample = size_t(kChannels * kHeight * kWidth);
  const Mix means = {0.3}, cut = {0.4, Box{1, 2, 5, 6}}, whole = {0, Box{0, 0, kHeight, kWidth}},
            nothing = {1, Box{3, 3, 3, 3}};
  for (const std::vector<int64_t> &order :
       std::vector<std::vector<int64_t>>{{}, {0, 2, 3, 1}, {1, 0, 2, 3}, {2, 3, 1, 0}})
    for (mpc_dtype dtype : {MPC_F32, MPC_F16, MPC_BF16, MPC_F64})
      for (const Mix &mix : {means, cut, whole, nothing})
        for (bool pixels : {true, false}) {
          Batch batch(dtype, shape, order), threads(dtype, shape, order);
          batch.mix(mix, pixels, 1);
          threads.mix(mix, pixels, 4);
          ASSERT_EQ(batch.stored, threads.stored);
          const auto values = batch.values;
          for (size_t i = 0; i < values.size(); ++i) {
            const double mine = values[i], other = values[(i + values.size() - sample) % values.size()];
            const int64_t row = int64_t(i) / kWidth % kHeight, column = int64_t(i) % kWidth;
            double wanted = mix.own * mine + (1 - mix.own) * other;
            if (pixels && mix.box)
              wanted =
                  row >= mix.box->top && row < mix.box->bottom && column >= mix.box->left && column < mix.box->right
                      ? other
                      : mine;
            // Two products and a sum are rounded in f32, then once to the type.
            const double ulp = dtype == MPC_F64   ? 0x1p-52
                               : dtype == MPC_F32 ? 0x1p-22
                               : dtype == MPC_F16 ? 0x1p-10
                                                  : 0x1p-7;
            const double exact = pixels && mix.box ? 0 : ulp * (std::abs(mine) + std::abs(other));
            ASSERT_NEAR(batch.at(i), wanted, exact) << "element " << i << " of " << nameOf(dtype);
          }
        }
}

TEST(Mixing, LargeSamplesAreMixedWholly) {
  Batch batch(MPC_F32, {kSamples, 3, 40, 50}, {}); // more elements than a run has
  batch.mix({0.25}, true, 3);
  const size_t sample = 3 * 40 * 50;
  for (size_t i = 0; i < batch.values.size(); i += 7)
    ASSERT_NEAR(batch.at(i),
                0.25 * batch.values[i] + 0.75 * batch.values[(i + batch.values.size() - sample) % batch.values.size()],
                0x1p-22 * 8);
}
