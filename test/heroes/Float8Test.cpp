// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of 8-bit floats on the emulator, whose sums have as few bits as those of the tensor cores: random
// shapes, formats and epilogues, every tile, with and without splits and clusters.
#include "HeroHarness.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace mpc::test;

namespace {

const std::string e4m3 = "f8E4M3FN", e5m2 = "f8E5M2";
const std::vector<std::pair<std::string, std::string>> formats = {{e4m3, e4m3}, {e5m2, e4m3}, {e4m3, e5m2}};

void runRandom(uint64_t seed, int count) {
  Random random(seed);
  HeroBatch batch("sm_90a");
  // The extents are below and above one tile and one stage of k. Rows of k are whole chunks of 16 bytes.
  const std::vector<int64_t> extents = {1, 8, 17, 64, 70, 133, 200}, depths = {16, 48, 128, 144, 272, 400};
  const std::vector<std::pair<std::string, std::string>> batches = {{"", ""},   {"", ""},   {"", ""},      {"2x", "2x"},
                                                                    {"2x", ""}, {"", "2x"}, {"2x1x", "2x"}};
  for (int i = 0; i < count; ++i) {
    auto &[a, b] = formats[size_t(i % 3)];
    auto &[batchA, batchB] = random.of(batches);
    HeroCase c = float8Case(a, b, random.of(std::vector<std::string>{"f32", "f16", "bf16"}), int(random.of(extents)),
                            int(random.of(extents)), int(random.of(depths)), batchA, batchB);
    batch.add(withEpilogue(c, randomEpilogue(random)), hero::Mainloop::Wgmma, size_t(i / 3),
              random.of(std::vector<int64_t>{1, 1, 2, 3}), random(0, 1));
  }
  batch.run();
}

} // namespace

TEST(Float8, Matmul1) { runRandom(61, 45); }
TEST(Float8, Matmul2) { runRandom(62, 45); }

// The terms have one sign, so that a sum that stayed in the tensor cores would lose several percent, which is
// four times the allowed error (test/emulator shows it). The ring is filled several times on every tile.
TEST(Float8, LongSumsArePromoted) {
  HeroBatch batch("sm_90a");
  for (size_t tile = 0; tile < 6; ++tile)
    for (bool clustered : {false, true}) {
      HeroCase c = float8Case(formats[tile % 3].first, formats[tile % 3].second, "f32", 72, 72, 4096);
      c.draws = {{1, 1.9}};
      batch.add(c, hero::Mainloop::Wgmma, tile, 1, clustered);
    }
  batch.run();
}

// These products get the schedule that the compiler chooses, as in a network, and results of 16 bits are
// stored through boxes.
TEST(Float8, Chosen) {
  HeroBatch batch("sm_90a");
  batch.add(withEpilogue(float8Case(e4m3, e4m3, "f16", 128, 256, 512), {.bias = true, .relu = true}));
  batch.add(float8Case(e5m2, e4m3, "bf16", 192, 128, 1024));
  // The f32 result of this product is stored in 16 bits.
  HeroCase narrowed = float8Case(e5m2, e4m3, "f32", 136, 72, 256);
  narrowed.body += "\n%n = graph.cast %h : tensor<136x72xf32> to tensor<136x72xbf16>";
  narrowed.yields = {"%n : tensor<136x72xbf16>"};
  batch.add(narrowed);
  // The result is stored in 8 bits, as a factor of the next product.
  HeroCase again = float8Case(e4m3, e4m3, "f32", 100, 72, 256);
  again.body += "\n%n = graph.cast %h : tensor<100x72xf32> to tensor<100x72xf8E4M3FN>";
  again.yields = {"%n : tensor<100x72xf8E4M3FN>"};
  batch.add(again);
  batch.run();
}
