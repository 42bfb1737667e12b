// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products whose epilogue also sums columns and their squares, by every mainloop, with rows and columns
// beyond the tiles.
#include "HeroHarness.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

/// Adds products in all tiles of a mainloop: one matrix, several, and several that share B (their rows are
/// one long column).
void addMatmuls(HeroBatch &batch, hero::Mainloop mainloop, const std::string &type, size_t tiles,
                bool clustered = false) {
  for (size_t tile = 0; tile < tiles; ++tile) {
    batch.add(withColumnSums(withEpilogue(matmulCase(type, 200, 136, 40), {.bias = true, .relu = true})), mainloop,
              tile, 1, clustered);
    bool transposed = tile % 2; // tensor maps need lines of whole 16 bytes
    batch.add(withColumnSums(matmulCase(type, transposed ? 72 : 70, 72, 24, transposed, tile / 2 % 2, "3x", "3x"),
                             /*keep=*/false),
              mainloop, tile, 1, clustered);
    batch.add(withColumnSums(matmulCase(type, 33, 24, 16, false, false, "2x", "")), mainloop, tile, 1, clustered);
  }
}

/// Adds products whose rows make so many parts that runs of them are added first: a part has 4 to 64 rows.
void addLong(HeroBatch &batch, hero::Mainloop mainloop, const std::string &type) {
  batch.add(withColumnSums(matmulCase(type, 36864, 40, 8)), mainloop, 0, 1);
  batch.add(withColumnSums(matmulCase(type, 40003, mainloop == hero::Mainloop::Wgmma ? 24 : 7, 8)), mainloop, 0, 1);
  batch.add(withColumnSums(matmulCase(type, 12301, 24, 8, false, false, "3x", "3x"), /*keep=*/false), mainloop, 0, 1);
}

/// A batch norm's statistics of a convolution, and the bias gradient behind an input gradient, whose
/// strides make phases.
void addConvolutions(HeroBatch &batch, hero::Mainloop mainloop, const std::string &type, size_t tiles) {
  for (size_t tile = 0; tile < tiles; ++tile)
    for (ConvKind kind : {ConvKind::Forward, ConvKind::InputGrad})
      batch.add(withColumnSums(convCase(kind, type,
                                        {.in = {9, 7},
                                         .kernel = {3, 3},
                                         .strides = {2, 1},
                                         .dilations = {1, 1},
                                         .padLow = {1, 1},
                                         .padHigh = {1, 1},
                                         .batch = 3,
                                         .channels = 16,
                                         .outChannels = 24,
                                         .weightChannelsLast = true})),
                mainloop, tile, 1);
}

void run(const char *arch, hero::Mainloop mainloop, const std::vector<std::string> &types, size_t tiles,
         bool clustered = false) {
  HeroBatch batch(arch);
  for (const std::string &type : types) {
    addMatmuls(batch, mainloop, type, tiles, clustered);
    addConvolutions(batch, mainloop, type, tiles);
  }
  addLong(batch, mainloop, types.back());
  batch.run();
}

} // namespace

TEST(ColumnSums, Simt) { run("sm_60", hero::Mainloop::Simt, {"f32", "f16"}, 4); }
TEST(ColumnSums, MmaStaged) { run("sm_75", hero::Mainloop::Mma, {"f16"}, 3); }
TEST(ColumnSums, Mma) { run("sm_80", hero::Mainloop::Mma, {"f16", "bf16"}, 6); }
TEST(ColumnSums, Wgmma) { run("sm_90a", hero::Mainloop::Wgmma, {"f16", "bf16"}, 10); }
TEST(ColumnSums, WgmmaClusters) { run("sm_90a", hero::Mainloop::Wgmma, {"bf16"}, 10, /*clustered=*/true); }

// The compiler never splits k where rows are summed.
TEST(ColumnSums, Chosen) {
  for (const char *arch : {"sm_70", "sm_80", "sm_90a"}) {
    HeroBatch batch(arch);
    batch.add(withColumnSums(matmulCase("f16", 64, 64, 4096)));
    batch.run();
  }
}
