// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tiles and splits heroes get.
#include "HeroHarness.h"
#include "passes/Lowering/HeroToGpu/MainKernel.h"
#include "passes/Lowering/Schedule/Box.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

struct Described {
  explicit Described(const HeroCase &c)
      : context(makeContext()), module(parseCase(context.get(), c)), problem(*hero::describeHero(dispatchOf(*module))) {
  }
  hero::Schedule schedule(llvm::StringRef arch) const { return hero::fastestSchedule(problem, *findGpuArch(arch)); }
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  hero::Problem problem;
};

Window square(int64_t batch, int64_t in, int64_t channels, int64_t outChannels, int64_t kernel, int64_t stride) {
  int64_t pad = kernel / 2;
  return {.in = {in, in},
          .kernel = {kernel, kernel},
          .strides = {stride, stride},
          .dilations = {1, 1},
          .padLow = {pad, pad},
          .padHigh = {pad, pad},
          .batch = batch,
          .channels = channels,
          .outChannels = outChannels};
}

TEST(HeroSchedule, TensorCoresWhereTheTypeHasThem) {
  for (auto [type, arch, mma] :
       {std::tuple("f16", "sm_60", false), std::tuple("f16", "sm_75", true), std::tuple("bf16", "sm_75", false),
        std::tuple("bf16", "sm_80", true), std::tuple("f32", "sm_90a", false), std::tuple("f64", "sm_80", false)}) {
    Described d(matmulCase(type, 512, 512, 512));
    EXPECT_EQ(d.schedule(arch).tile.mainloop == hero::Mainloop::Mma, mma) << type << " " << arch;
  }
}

TEST(HeroSchedule, WarpgroupsWhereThereAreAndOperandsComeInChunks) {
  for (auto [m, n, k, arch, wgmma] :
       {std::tuple(4096, 4096, 4096, "sm_90a", true), std::tuple(4096, 4096, 4096, "sm_89", false),
        std::tuple(4096, 4096, 4100, "sm_90a", true), std::tuple(4096, 4096, 4098, "sm_90a", false),
        std::tuple(512, 768, 3072, "sm_90a", true)}) {
    Described d(matmulCase("bf16", m, n, k));
    EXPECT_EQ(d.schedule(arch).tile.mainloop == hero::Mainloop::Wgmma, wgmma)
        << m << " " << n << " " << k << " " << arch;
  }
  Window w = square(32, 28, 128, 128, 3, 1);
  w.weightChannelsLast = true;
  for (ConvKind kind : {ConvKind::Forward, ConvKind::InputGrad, ConvKind::WeightGrad})
    EXPECT_EQ(Described(convCase(kind, "f16", w)).schedule("sm_90a").tile.mainloop, hero::Mainloop::Wgmma);
}

TEST(HeroSchedule, LargeProductsGetLargeTilesAndNoSplits) {
  Described d(matmulCase("f16", 4096, 4096, 4096));
  hero::Schedule s = d.schedule("sm_80");
  EXPECT_GE(s.tile.m * s.tile.n, 128 * 128);
  EXPECT_EQ(s.splits, 1);
  EXPECT_EQ(hero::scratchBytes(d.problem, s), 0);
}

TEST(HeroSchedule, WeightGradientsAreSplit) {
  Described d(convCase(ConvKind::WeightGrad, "f16", square(32, 28, 128, 128, 3, 1)));
  hero::Schedule s = d.schedule("sm_80");
  EXPECT_GT(s.splits, 3);
  EXPECT_EQ(hero::scratchBytes(d.problem, s), s.splits * 128 * 128 * 9 * 4);
}

TEST(HeroSchedule, NoSplitIsEmpty) {
  for (int64_t tiles = 1; tiles < 200; ++tiles)
    for (int64_t wanted = 1; wanted <= 64; wanted *= 2) {
      int64_t splits = hero::usefulSplits(tiles, wanted), each = (tiles + splits - 1) / splits;
      EXPECT_LE(splits, wanted);
      EXPECT_LT((splits - 1) * each, tiles);
      EXPECT_GE(splits * each, tiles);
    }
}

TEST(HeroSchedule, TilesFitTheirArchitecture) {
  for (const GpuArch &arch : gpuArchs())
    for (const char *type : {"f32", "f64", "f16", "bf16"})
      for (int64_t m : {512, 511}) {
        Described d(matmulCase(type, m, m, m));
        auto tiles = hero::tilesFor(d.problem, arch);
        EXPECT_GE(tiles.size(), 3u);
        for (const hero::Tile &tile : tiles) {
          EXPECT_EQ(tile.threads() % 32, 0);
          EXPECT_LE(tile.threads(), 1024);
          const hero::MainloopFacts &facts = hero::factsOf(tile.mainloop);
          EXPECT_LE(facts.sharedBytes(d.problem, tile) * std::max(tile.blocks, 1), arch.sharedBytesPerBlock);
          EXPECT_EQ(tile.threads() % facts.partThreads, 0);
        }
      }
}

TEST(HeroSchedule, EveryMainloopHasItsFactsAndItsEmitter) {
  std::set<hero::MainloopEmitter> emitters;
  std::set<const hero::MainloopFacts *> facts;
  for (hero::Mainloop mainloop : kernel::allMainloops) {
    EXPECT_TRUE(facts.insert(&hero::factsOf(mainloop)).second) << hero::nameOf(mainloop).str();
    EXPECT_TRUE(emitters.insert(hero::emitterOf(mainloop)).second) << hero::nameOf(mainloop).str();
    Described d(matmulCase("f16", 512, 512, 512));
    for (const GpuArch &arch : gpuArchs()) {
      if (hero::factsOf(mainloop).multiplyAdds(d.problem, arch) == 0)
        continue;
      for (const hero::Tile &tile : hero::factsOf(mainloop).tiles(d.problem, arch))
        EXPECT_EQ(tile.mainloop, mainloop) << arch.name.str();
    }
  }
}

TEST(HeroProblem, ChannelsMakeVectorsAndPointwiseConvolutionsAreProducts) {
  Described padded(convCase(ConvKind::Forward, "f16", square(2, 14, 64, 32, 3, 1)));
  EXPECT_EQ(padded.problem.a.vector, 8);
  EXPECT_EQ(padded.problem.a.contiguous, hero::Axis::K);
  EXPECT_EQ(padded.problem.a.digits[unsigned(hero::Axis::K)], (hero::Digits{3, 3, 64}));
  Described pointwise(convCase(ConvKind::Forward, "f16", square(2, 14, 64, 32, 1, 1)));
  EXPECT_EQ(pointwise.problem.a.digits[unsigned(hero::Axis::M)], (hero::Digits{2 * 14 * 14}));
  EXPECT_EQ(pointwise.problem.a.digits[unsigned(hero::Axis::K)], (hero::Digits{64}));
  EXPECT_EQ(pointwise.problem.b.vector, 8);
  Described gradient(convCase(ConvKind::WeightGrad, "f16", square(2, 14, 64, 32, 3, 1)));
  EXPECT_EQ(gradient.problem.b.contiguous, hero::Axis::N);
  EXPECT_EQ(gradient.problem.b.vector, 8);
  Described odd(convCase(ConvKind::Forward, "f16", square(2, 14, 3, 32, 3, 1)));
  EXPECT_EQ(odd.problem.a.vector, 1);
}

TEST(HeroProblem, OneMatrixForAllBatchesIsOneProduct) {
  Described shared(matmulCase("f32", 8, 16, 4, false, false, "2x3x", ""));
  EXPECT_EQ(shared.problem.m(), 48);
  EXPECT_EQ(shared.problem.z(), 1);
  Described own(matmulCase("f32", 8, 16, 4, false, false, "2x3x", "3x"));
  EXPECT_EQ(own.problem.m(), 8);
  EXPECT_EQ(own.problem.z(), 6);
}

/// Returns "tiled", "im2col" or "gathered".
std::string feedOf(const hero::Operand &operand) {
  std::optional<hero::Box> box = hero::boxOf(operand, 128, 64);
  return !box ? "gathered" : box->pixels ? "im2col" : "tiled";
}

TEST(HeroProblem, OffsetsOfTapsHaveEightBitsInTwoDimensions) {
  // The corners stay in [-128, 127], so that only the farthest tap decides.
  auto feed = [](int64_t taps, int64_t dilation, int64_t padHigh) {
    Window w = square(2, 300, 64, 64, 1, 1);
    w.kernel = {taps, 1}, w.dilations = {dilation, 1}, w.padLow = {128, 0}, w.padHigh = {padHigh, 0};
    w.weightChannelsLast = true;
    return feedOf(Described(convCase(ConvKind::Forward, "f16", w)).problem.a);
  };
  EXPECT_EQ(feed(4, 85, 127), "im2col"); // the last tap is 255 away
  EXPECT_EQ(feed(5, 64, 128), "gathered");
}

TEST(HeroProblem, TilesAreBoxesWhereTheyCan) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      Described product(matmulCase("f16", 200, 136, 72, transposeA, transposeB, "2x3x", "3x"));
      EXPECT_EQ(feedOf(product.problem.a), "tiled");
      EXPECT_EQ(feedOf(product.problem.b), "tiled");
    }
  // Rows of 152 bytes are not aligned to 16.
  EXPECT_EQ(feedOf(Described(matmulCase("f16", 200, 136, 76)).problem.a), "gathered");
  Window w = square(2, 28, 64, 128, 3, 2);
  w.weightChannelsLast = true;
  auto feeds = [&](ConvKind kind) {
    Described conv(convCase(kind, "f16", w));
    return feedOf(conv.problem.a) + " " + feedOf(conv.problem.b);
  };
  EXPECT_EQ(feeds(ConvKind::Forward), "im2col tiled");
  // The weights that this reads are the taps of one phase, which no box covers.
  EXPECT_EQ(feeds(ConvKind::InputGrad), "im2col gathered");
  EXPECT_EQ(feeds(ConvKind::WeightGrad), "tiled im2col");
  w.strides = {1, 1};
  EXPECT_EQ(feeds(ConvKind::InputGrad), "im2col tiled");
  w.channels = 72; // a tile of k then has parts of two taps
  EXPECT_EQ(feeds(ConvKind::Forward), "gathered tiled");
  w.kernel = {1, 1}, w.padLow = w.padHigh = {0, 0};
  EXPECT_EQ(feeds(ConvKind::Forward), "tiled tiled");
}

} // namespace
