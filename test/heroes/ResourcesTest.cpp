// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What ptxas makes of every tile: there are no spills, it serialises no wgmmas, and the registers exist.
#include "HeroHarness.h"
#include "compiler/Codegen/NvptxCodegen.h"
#include "compiler/Codegen/Ptxas.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

/// Compiles all tiles of an architecture for these cases and prints a line of registers and shared memory for each.
static void expectNoSpills(llvm::StringRef archName, llvm::ArrayRef<HeroCase> cases) {
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    GTEST_SKIP() << "no ptxas";
  mlir::DialectRegistry registry;
  registerNvptxDialects(registry);
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects(); // loaded before compilation starts threads
  const GpuArch &arch = *findGpuArch(archName);
  mlir::OwningOpRef<mlir::ModuleOp> kernels = mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()));
  (*kernels)->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::get(context.get(), archName));
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> sources;
  llvm::StringMap<std::string> names;
  llvm::StringMap<hero::Tile> tiles;
  for (const HeroCase &c : cases) {
    sources.push_back(parseCase(context.get(), c));
    auto problem = hero::describeHero(dispatchOf(*sources.back()));
    ASSERT_TRUE(succeeded(problem));
    for (const hero::Schedule &schedule : hero::schedulesFor(*problem, arch)) {
      if (schedule.splits > 2) // as with two splits, but for a number
        continue;
      const hero::Tile &tile = schedule.tile;
      std::string symbol = "hero" + std::to_string(names.size());
      tiles[symbol] = tile;
      names[symbol] =
          llvm::formatv("{0} {1} {2}x{3}x{4}{5}{6}{7}, vectors {8} {9}", archName, hero::nameOf(tile.mainloop), tile.m,
                        tile.n, tile.k, tile.pingPong ? " ping-pong" : "", schedule.cluster > 1 ? " cluster" : "",
                        schedule.splits > 1 ? " split" : "", problem->a.vector, problem->b.vector);
      ASSERT_TRUE(succeeded(hero::emitScheduled(*problem, *kernels, symbol, schedule))) << c.name;
    }
  }
  auto modules = compileNvptx(*kernels, {.modules = 8, .threads = 2, .ptxas = ptxas});
  ASSERT_TRUE(succeeded(modules));
  size_t count = 0;
  for (const NvptxModule &module : *modules)
    for (const NvptxKernel &kernel : module.kernels) {
      ASSERT_TRUE(kernel.report);
      ++count;
      const PtxasReport &report = *kernel.report;
      printf("%-40s %3d registers %6lld bytes shared\n", names[kernel.symbol].c_str(), report.registers,
             static_cast<long long>(report.sharedBytes + kernel.dynamicSharedBytes));
      EXPECT_EQ(report.spillStoreBytes + report.spillLoadBytes, 0) << names[kernel.symbol];
      EXPECT_EQ(report.stackBytes, 0) << names[kernel.symbol];
      for (const std::string &warning : report.warnings)
        ADD_FAILURE() << names[kernel.symbol] << ": " << warning;
      // The warpgroups redistribute no more registers than the launch gave them together.
      const hero::Tile &tile = tiles[kernel.symbol];
      if (tile.consumerRegisters != 0) {
        int groups = tile.threads() / 128;
        EXPECT_LE(tile.producerRegisters + (groups - 1) * tile.consumerRegisters, groups * report.registers)
            << names[kernel.symbol];
      }
      if (tile.blocks != 0) {
        EXPECT_LE(tile.blocks * tile.threads() * report.registers, arch.registersPerSm) << names[kernel.symbol];
        EXPECT_LE(tile.blocks * (report.sharedBytes + kernel.dynamicSharedBytes), arch.sharedBytesPerSm)
            << names[kernel.symbol];
      }
    }
  EXPECT_EQ(count, names.size());
}

static Window window(int64_t stride) {
  return {.in = {28, 28},
          .kernel = {3, 3},
          .strides = {stride, stride},
          .dilations = {1, 1},
          .padLow = {1, 1},
          .padHigh = {1, 1},
          .batch = 8,
          .channels = 128,
          .outChannels = 128,
          .weightChannelsLast = true};
}

static std::vector<HeroCase> halfCases() {
  Window w = window(1);
  return {withEpilogue(matmulCase("f16", 1024, 1024, 1024), {.bias = true, .relu = true}),
          matmulCase("f16", 1023, 1023, 1023), convCase(ConvKind::WeightGrad, "f16", w)};
}

TEST(HeroResources, Sm75) { expectNoSpills("sm_75", halfCases()); }
TEST(HeroResources, Sm80) { expectNoSpills("sm_80", halfCases()); }
TEST(HeroResources, Sm90a) { expectNoSpills("sm_90a", halfCases()); }
TEST(HeroResources, Sm90aConvolutions) {
  Window dilated = window(2);
  dilated.dilations = {2, 2};
  dilated.padLow = dilated.padHigh = {2, 2};
  expectNoSpills("sm_90a",
                 {withEpilogue(convCase(ConvKind::Forward, "bf16", window(2)),
                               {.bias = true, .relu = true, .residual = true, .cast = true}),
                  convCase(ConvKind::InputGrad, "bf16", window(2)), convCase(ConvKind::InputGrad, "bf16", dilated)});
}
TEST(HeroResources, Sm90aFourChannels) {
  Window picture = window(2);
  picture.in = {224, 224}, picture.kernel = {7, 7}, picture.padLow = picture.padHigh = {3, 3};
  picture.channels = 4, picture.outChannels = 64;
  expectNoSpills("sm_90a", {withEpilogue(convCase(ConvKind::Forward, "f16", picture), {.bias = true, .relu = true}),
                            convCase(ConvKind::WeightGrad, "f16", picture)});
}
TEST(HeroResources, Sm90aLayouts) {
  expectNoSpills("sm_90a",
                 {matmulCase("bf16", 1024, 1000, 1048, true, false), matmulCase("bf16", 1000, 1024, 1048, false, true),
                  matmulCase("f16", 1000, 1000, 1000, true, true, "3x", "3x")});
}
TEST(HeroResources, Sm90aFloat8) {
  expectNoSpills("sm_90a", {withEpilogue(float8Case("f8E4M3FN", "f8E4M3FN", "f16", 1024, 1024, 1024),
                                         {.bias = true, .relu = true}),
                            float8Case("f8E5M2", "f8E4M3FN", "f32", 1000, 1000, 1040, "3x", "3x")});
}
TEST(HeroResources, Wide) {
  expectNoSpills("sm_80", {withEpilogue(matmulCase("f32", 1024, 1024, 1024), {.bias = true, .relu = true}),
                           matmulCase("f32", 1023, 1023, 1023), matmulCase("f64", 512, 512, 512)});
}
