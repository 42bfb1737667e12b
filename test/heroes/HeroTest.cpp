// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random shapes and layouts of matrix products and convolutions, every tile, with and without splits.
#include "HeroHarness.h"
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "passes/Lowering/Schedule/Tuning.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

const std::vector<std::string> types = {"f32", "f16", "bf16"};

HeroCase randomMatmul(Random &random, const std::string &type) {
  // The extents are aligned to 16 bytes, to 8, to 4, and not at all; they are below and above one tile and
  // one step of k.
  const std::vector<int64_t> extents = {1, 3, 8, 10, 17, 32, 40, 64, 68, 72, 130, 136};
  const std::vector<int64_t> depths = {1, 5, 8, 16, 17, 36, 64, 72, 98};
  const std::vector<std::pair<std::string, std::string>> batches = {
      {"", ""}, {"", ""}, {"", ""}, {"3x", "3x"}, {"2x", ""}, {"", "2x"}, {"2x1x", "3x"}, {"2x3x", "1x3x"}};
  auto &[batchA, batchB] = random.of(batches);
  return matmulCase(type, random.of(extents), random.of(extents), random.of(depths), random(0, 1), random(0, 1), batchA,
                    batchB);
}

Window randomWindow(Random &random) {
  Window w;
  int spatial = random.of(std::vector<int>{1, 2, 2, 2, 3});
  w.groups = random.of(std::vector<int64_t>{1, 1, 1, 2, 3});
  int64_t in = random.of(std::vector<int64_t>{1, 3, 4, 8, 16, 32}),
          out = random.of(std::vector<int64_t>{1, 2, 5, 8, 16, 40});
  if (random(0, 5) == 0) // depthwise
    w.groups = random.of(std::vector<int64_t>{3, 8, 16}), in = 1, out = random(1, 2);
  w.channels = in * w.groups;
  w.outChannels = out * w.groups;
  w.batch = random(1, 3);
  for (int i = 0; i < spatial; ++i) {
    w.kernel.push_back(random.of(std::vector<int64_t>{1, 2, 3, 3, 5}));
    w.strides.push_back(random.of(std::vector<int64_t>{1, 1, 2, 3}));
    w.dilations.push_back(random.of(std::vector<int64_t>{1, 1, 1, 2}));
    w.padLow.push_back(random(0, 2));
    w.padHigh.push_back(random(0, 2));
    int64_t least = w.dilations[i] * (w.kernel[i] - 1) + 1;
    w.in.push_back(least + random(0, spatial == 3 ? 2 : spatial == 2 ? 6 : 20));
  }
  return w;
}

/// Runs `count` cases, each with the next tile and random splits.
void runMatmuls(llvm::StringRef arch, uint64_t seed, int count) {
  Random random(seed);
  HeroBatch batch(arch);
  for (int i = 0; i < count; ++i)
    batch.add(withEpilogue(randomMatmul(random, types[i % types.size()]), randomEpilogue(random)), i / types.size(),
              random.of(std::vector<int64_t>{1, 1, 2, 3}));
  batch.run();
}
void runConvolutions(llvm::StringRef arch, ConvKind kind, uint64_t seed, int count) {
  Random random(seed);
  HeroBatch batch(arch);
  for (int i = 0; i < count; ++i) {
    HeroCase c = convCase(kind, types[i % types.size()], randomWindow(random));
    if (kind != ConvKind::WeightGrad)
      c = withEpilogue(c, randomEpilogue(random));
    batch.add(c, i / types.size(), random.of(std::vector<int64_t>{1, 1, 2, 3}));
  }
  batch.run();
}

} // namespace

TEST(Heroes, MatmulSm60) { runMatmuls("sm_60", 1, 36); }
TEST(Heroes, ConvSm60) { runConvolutions("sm_60", ConvKind::Forward, 2, 30); }
TEST(Heroes, ConvInputGradSm60) { runConvolutions("sm_60", ConvKind::InputGrad, 3, 30); }
TEST(Heroes, ConvWeightGradSm60) { runConvolutions("sm_60", ConvKind::WeightGrad, 4, 30); }
TEST(Heroes, MatmulSm75) { runMatmuls("sm_75", 11, 36); }
TEST(Heroes, ConvSm75) { runConvolutions("sm_75", ConvKind::Forward, 12, 24); }
TEST(Heroes, ConvInputGradSm75) { runConvolutions("sm_75", ConvKind::InputGrad, 13, 24); }
TEST(Heroes, ConvWeightGradSm75) { runConvolutions("sm_75", ConvKind::WeightGrad, 14, 24); }
TEST(Heroes, MatmulSm80) { runMatmuls("sm_80", 21, 45); }
TEST(Heroes, ConvSm80) { runConvolutions("sm_80", ConvKind::Forward, 22, 30); }
TEST(Heroes, ConvInputGradSm80) { runConvolutions("sm_80", ConvKind::InputGrad, 23, 30); }
TEST(Heroes, ConvWeightGradSm80) { runConvolutions("sm_80", ConvKind::WeightGrad, 24, 30); }

/// The layer in front of a GELU stores the operand and the result, by every main loop and in all of its tiles.
TEST(Heroes, StoresAGeluBesideItsOperand) {
  struct Arch {
    const char *name;
    hero::Mainloop mainloop;
    size_t tiles;
  };
  for (const Arch &arch : {Arch{"sm_60", hero::Mainloop::Simt, 4}, Arch{"sm_75", hero::Mainloop::Mma, 3},
                           Arch{"sm_80", hero::Mainloop::Mma, 6}, Arch{"sm_90a", hero::Mainloop::Wgmma, 10}}) {
    HeroBatch batch(arch.name);
    for (size_t tile = 0; tile < arch.tiles; ++tile)
      for (const auto &[m, n, k] : {std::array<int64_t, 3>{200, 136, 40}, std::array<int64_t, 3>{72, 72, 24}})
        batch.add(withEpilogue(matmulCase("f16", m, n, k), {.bias = true, .gelu = true}), arch.mainloop, tile,
                  arch.mainloop == hero::Mainloop::Wgmma ? 1 : 1 + tile % 2);
    batch.run();
  }
}

TEST(Heroes, Wide) {
  Random random(31);
  HeroBatch batch("sm_80");
  for (int i = 0; i < 12; ++i)
    batch.add(withEpilogue(randomMatmul(random, "f64"), {.bias = true}), i, 1 + i % 2);
  batch.run();
}

// These problems get the schedules that the compiler chooses.
TEST(Heroes, Chosen) {
  Random random(32);
  for (const char *arch : {"sm_70", "sm_75", "sm_86", "sm_90a"}) {
    HeroBatch batch(arch);
    for (const std::string &type : types) {
      batch.add(withEpilogue(matmulCase(type, 100, 36, 1000), {.bias = true, .relu = true}));
      batch.add(convCase(ConvKind::WeightGrad, type, randomWindow(random)));
    }
    batch.run();
  }
}

TEST(Heroes, Corners) {
  for (const char *arch : {"sm_60", "sm_80"}) {
    HeroBatch batch(arch);
    // There is nothing to sum, so the sums are zeros, to which the epilogue is applied.
    batch.add(withEpilogue(matmulCase("f16", 5, 24, 0), {.bias = true, .relu = true}));
    // Both operands are the same tensor.
    batch.add({.name = "square",
               .inputs = {"tensor<40x40xf16>"},
               .body = "%h = graph.matmul %0, %0 : (tensor<40x40xf16>, tensor<40x40xf16>) -> tensor<40x40xf16>",
               .yields = {"%h : tensor<40x40xf16>"}});
    // The epilogue reads a residual, with splits too.
    HeroCase residual = withEpilogue(matmulCase("f16", 33, 48, 130), {.residual = true});
    batch.add(residual, 0, 1);
    batch.add(residual, 2, 3);
    // One result has another shape than the hero's.
    HeroCase reshaped = matmulCase("bf16", 12, 40, 24);
    reshaped.body += "\n%y = graph.reshape %h : tensor<12x40xbf16> to tensor<3x4x5x8xbf16>";
    reshaped.yields = {"%y : tensor<3x4x5x8xbf16>", "%h : tensor<12x40xbf16>"};
    batch.add(reshaped);
    batch.run();
  }
  // The product is empty, so there is nothing to launch.
  auto context = makeContext();
  auto module = parseCase(context.get(), matmulCase("f32", 0, 8, 8));
  mlir::OwningOpRef<mlir::ModuleOp> kernels = mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()));
  (*kernels)->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::get(context.get(), "sm_80"));
  ASSERT_TRUE(mlir::succeeded(hero::assignSchedules(*module, *findGpuArch("sm_80"), /*tuning=*/nullptr)));
  auto emitted = emitGpuHero(dispatchOf(*module), *kernels, "none");
  ASSERT_TRUE(succeeded(emitted));
  EXPECT_TRUE(emitted->empty());
}
