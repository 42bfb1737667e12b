// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sm_90a's warpgroup kernels on the emulator: random shapes, layouts and epilogues, every tile, with and
// without splits.
#include "HeroHarness.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

const std::vector<std::string> halves = {"f16", "bf16"};

/// The operands are whole chunks of 16 bytes, so extents of contiguous axes are multiples of 8. They are
/// below and above one tile, with and without tails.
HeroCase randomMatmul(Random &random, const std::string &type) {
  const std::vector<int64_t> even = {8, 24, 64, 72, 136, 200}, any = {1, 8, 17, 64, 70, 133, 200};
  const std::vector<int64_t> depths = {8, 24, 64, 72, 136, 264};
  const std::vector<std::pair<std::string, std::string>> batches = {
      {"", ""}, {"", ""}, {"", ""}, {"", ""}, {"2x", "2x"}, {"2x", ""}, {"", "2x"}, {"2x1x", "2x"}};
  bool transposeA = random(0, 1), transposeB = random(0, 1);
  auto &[batchA, batchB] = random.of(batches);
  int64_t m = random.of(transposeA ? even : any), n = random.of(transposeB ? any : even);
  return matmulCase(type, m, n, random.of(depths), transposeA, transposeB, batchA, batchB);
}

Window randomWindow(Random &random) {
  Window w;
  int spatial = random.of(std::vector<int>{1, 2, 2, 2, 3});
  w.groups = random.of(std::vector<int64_t>{1, 1, 1, 2});
  w.channels = random.of(std::vector<int64_t>{8, 16, 24, 64, 72}) * w.groups;
  w.outChannels = random.of(std::vector<int64_t>{8, 16, 40, 64, 72}) * w.groups;
  w.batch = random(1, 3);
  w.weightChannelsLast = true;
  for (int i = 0; i < spatial; ++i) {
    w.kernel.push_back(random.of(std::vector<int64_t>{1, 2, 3, 3}));
    w.strides.push_back(random.of(std::vector<int64_t>{1, 1, 2, 3}));
    w.dilations.push_back(random.of(std::vector<int64_t>{1, 1, 1, 2}));
    w.padLow.push_back(random(0, 2));
    w.padHigh.push_back(random(0, 2));
    w.in.push_back(w.dilations[i] * (w.kernel[i] - 1) + 1 + random(0, spatial == 3 ? 1 : spatial == 2 ? 4 : 16));
  }
  return w;
}

const std::vector<int64_t> splits = {1, 1, 2, 3};

void runMatmuls(uint64_t seed, int count) {
  Random random(seed);
  HeroBatch batch("sm_90a");
  for (int i = 0; i < count; ++i)
    batch.add(withEpilogue(randomMatmul(random, halves[i % 2]), randomEpilogue(random)), hero::Mainloop::Wgmma, i / 2,
              random.of(splits), random(0, 1));
  batch.run();
}

void runConvolutions(ConvKind kind, uint64_t seed, int count) {
  Random random(seed);
  HeroBatch batch("sm_90a");
  for (int i = 0; i < count; ++i) {
    HeroCase c = convCase(kind, halves[i % 2], randomWindow(random));
    if (kind != ConvKind::WeightGrad)
      c = withEpilogue(c, randomEpilogue(random));
    batch.add(c, hero::Mainloop::Wgmma, i / 2, random.of(splits), random(0, 1));
  }
  batch.run();
}

} // namespace

TEST(Wgmma, Matmul1) { runMatmuls(41, 100); }
TEST(Wgmma, Matmul2) { runMatmuls(42, 100); }
TEST(Wgmma, Matmul3) { runMatmuls(43, 100); }
TEST(Wgmma, Conv) { runConvolutions(ConvKind::Forward, 44, 40); }
TEST(Wgmma, ConvInputGrad) { runConvolutions(ConvKind::InputGrad, 45, 40); }
TEST(Wgmma, ConvWeightGrad) { runConvolutions(ConvKind::WeightGrad, 46, 40); }

// The tensor memory accelerator reads activations in im2col mode, also for convolutions in groups.
TEST(Wgmma, Im2col) {
  Random random(47);
  HeroBatch batch("sm_90a");
  for (int i = 0; i < 48; ++i) {
    Window w = randomWindow(random);
    w.channels = random.of(std::vector<int64_t>{64, 128}) * w.groups;
    w.outChannels = random.of(std::vector<int64_t>{64, 128}) * w.groups;
    for (size_t d = 0; d < w.in.size(); ++d)
      w.padLow[d] = std::max<int64_t>(w.padLow[d], w.kernel[d] / 2);
    auto kind = std::vector{ConvKind::Forward, ConvKind::InputGrad, ConvKind::WeightGrad}[size_t(i % 3)];
    batch.add(convCase(kind, halves[i / 3 % 2], w), hero::Mainloop::Wgmma, i / 3, random.of(splits), random(0, 1));
  }
  batch.run();
}

// These are images whose three channels mpc-pad-channels makes four; they are gathered by 8 bytes.
TEST(Wgmma, FourChannels) {
  Random random(48);
  HeroBatch batch("sm_90a");
  for (int i = 0; i < 24; ++i) {
    Window w = randomWindow(random);
    w.groups = 1, w.channels = random.of(std::vector<int64_t>{4, 12});
    w.outChannels = random.of(std::vector<int64_t>{16, 64});
    auto kind = std::vector{ConvKind::Forward, ConvKind::InputGrad, ConvKind::WeightGrad}[size_t(i % 3)];
    batch.add(convCase(kind, halves[i / 3 % 2], w), hero::Mainloop::Wgmma, i / 3, random.of(splits), random(0, 1));
  }
  batch.run();
}

// The tiles have more rows than a strip, so the last strip has fewer rows; clusters have strips too.
TEST(Wgmma, ManyTiles) {
  HeroBatch batch("sm_90a");
  for (size_t tile = 0; tile < 10; ++tile)
    for (bool clustered : {false, true})
      batch.add(withEpilogue(matmulCase("bf16", 4500, 72, 8), {.bias = true, .relu = true, .keep = true}),
                hero::Mainloop::Wgmma, tile, 1, clustered);
  batch.run();
}

// The ring is filled several times, with phases of either parity, on every tile.
TEST(Wgmma, LongSums) {
  HeroBatch batch("sm_90a");
  for (size_t tile = 0; tile < 10; ++tile)
    for (bool clustered : {false, true})
      batch.add(matmulCase("f16", 72, 72, 1032, tile % 2, tile / 2 % 2), hero::Mainloop::Wgmma, tile, 1, clustered);
  batch.run();
}
