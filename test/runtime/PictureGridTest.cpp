// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures side by side. The test of the file is test/e2e/picture_grid_test.py.
#include "runtime/core/PictureGrid.h"

#include "LogisticProgram.h"

#include <gtest/gtest.h>

#include <limits>

namespace mpc::rt::test {
namespace {
/// Returns a tensor of the numbers 0, 1, 2, ...
Tensor counting(Shape shape) {
  Tensor tensor(MPC_F32, std::move(shape));
  for (size_t i = 0; i < size_t(tensor.elements()); ++i)
    tensor.as<float>()[i] = float(i);
  return tensor;
}

TEST(PictureGrid, PutsPicturesSideBySide) {
  // Three pictures of 1 x 2 pixels in two columns.
  PictureGrid grid = PictureGrid::of(counting({3, 1, 1, 2}), {.range = ValueRange{0, 5}, .columns = 2});
  EXPECT_EQ(grid.width, 6);
  EXPECT_EQ(grid.height, 4);
  EXPECT_EQ(grid.channels, 1);
  const std::vector<uint8_t> none(6);
  EXPECT_EQ(std::vector<uint8_t>(grid.pixels.begin(), grid.pixels.begin() + 6),
            (std::vector<uint8_t>{0, 51, 0, 0, 102, 153}));
  EXPECT_EQ(std::vector<uint8_t>(grid.pixels.begin() + 6, grid.pixels.begin() + 12), none);
  EXPECT_EQ(std::vector<uint8_t>(grid.pixels.begin() + 12, grid.pixels.begin() + 18), none);
  EXPECT_EQ(std::vector<uint8_t>(grid.pixels.begin() + 18, grid.pixels.end()),
            (std::vector<uint8_t>{204, 255, 0, 0, 0, 0}));
}

TEST(PictureGrid, TakesChannelsFirstOrLast) {
  EXPECT_EQ(PictureGrid::of(counting({1, 3, 1, 2}), {.range = ValueRange{0, 255}}).pixels,
            (std::vector<uint8_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(PictureGrid::of(counting({1, 2, 1, 3}), {.range = ValueRange{0, 255}}).pixels,
            (std::vector<uint8_t>{0, 1, 2, 3, 4, 5}));
}

TEST(PictureGrid, ValuesBeyondTheRangeAreBlackOrWhite) {
  EXPECT_EQ(PictureGrid::of(counting({1, 1, 1, 5}), {.range = ValueRange{1, 3}}).pixels,
            (std::vector<uint8_t>{0, 0, 128, 255, 255}));
}

TEST(PictureGrid, TheRangeOfValuesLeavesOutWhatIsNotFinite) {
  Tensor pictures = counting({1, 1, 1, 4});
  pictures.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  pictures.as<float>()[3] = std::numeric_limits<float>::infinity();
  PictureGrid grid = PictureGrid::of(pictures, {});
  EXPECT_EQ(grid.range.low, 1);
  EXPECT_EQ(grid.range.high, 2);
  EXPECT_EQ(grid.nonFinite, 2);
  EXPECT_EQ(grid.pixels, (std::vector<uint8_t>{0, 0, 255, 0}));
  for (size_t i : {1u, 2u})
    pictures.as<float>()[i] = std::numeric_limits<float>::quiet_NaN();
  grid = PictureGrid::of(pictures, {});
  EXPECT_EQ(grid.nonFinite, 4);
  EXPECT_EQ(grid.pixels, std::vector<uint8_t>(4));
}

TEST(PictureGrid, RefusesWhatNoFileHolds) {
  EXPECT_NE(errorOf([] { PictureGrid::of(Tensor(MPC_F32, {0, 1, 4, 4}), {.file = "g.png"}); }).text().find("no pixel"),
            std::string::npos);
  EXPECT_NE(errorOf([] {
              PictureGrid::of(Tensor(MPC_U8, {1000, 1, 1, 100}), {.file = "g.png", .count = 1000, .columns = 1000});
            })
                .text()
                .find("101998 x 1 pixels"),
            std::string::npos);
}

TEST(PictureGrid, ParsesRanges) {
  EXPECT_EQ(ValueRange::parse("-1:2.5")->low, -1);
  EXPECT_EQ(ValueRange::parse("-1:2.5")->high, 2.5);
  for (const char *text :
       {"", ":", "1", "1:", ":1", "1:1", "2:1", "0:inf", "nan:1", "0:1:2", "0: 1", "0x:1", "1e999:1"})
    EXPECT_FALSE(ValueRange::parse(text)) << text;
}

} // namespace
} // namespace mpc::rt::test
