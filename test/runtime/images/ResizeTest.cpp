// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resizing of pictures whose sides are no multiples of a vector, beside sums in double precision.
#include "Files.h"
#include "Plugin.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mpc::images::test;

namespace {
using Bytes = std::vector<uint8_t>;
struct Size {
  int width, height;
};

/// Returns a line of `values` with `count` values: sums under a triangle, rounded.
std::vector<double> resized(const std::vector<double> &values, int count) {
  const double scale = double(values.size()) / count, half = std::max(scale, 1.0);
  std::vector<double> result;
  for (int i = 0; i < count; ++i) {
    double sum = 0, weights = 0;
    for (size_t x = 0; x < values.size(); ++x) {
      const double weight = std::max(0.0, 1 - std::abs(double(x) + 0.5 - (i + 0.5) * scale) / half);
      sum += weight * values[x];
      weights += weight;
    }
    result.push_back(std::floor(sum / weights + 0.5));
  }
  return result;
}

/// Resizes a plane: first its lines, then its columns.
std::vector<double> resized(const uint8_t *plane, Size from, Size to) {
  std::vector<double> lines, result(size_t(to.width) * size_t(to.height));
  for (int y = 0; y < from.height; ++y) {
    const uint8_t *line = plane + ptrdiff_t(y) * from.width;
    const std::vector<double> values = resized(std::vector<double>(line, line + from.width), to.width);
    lines.insert(lines.end(), values.begin(), values.end());
  }
  for (int x = 0; x < to.width; ++x) {
    std::vector<double> column;
    for (int y = 0; y < from.height; ++y)
      column.push_back(lines[size_t(y * to.width + x)]);
    const std::vector<double> values = resized(column, to.height);
    for (int y = 0; y < to.height; ++y)
      result[size_t(y * to.width + x)] = values[size_t(y)];
  }
  return result;
}

Bytes made(const mpc_data_source *source, const mpc_picture_array *array, int channels, Size to) {
  const Bytes erased(size_t(channels), 0);
  const mpc_picture_input input = {channels, to.height, to.width, "resize", "", erased.data()};
  mpc_data_error error = {};
  mpc_picture_maker *maker = plugin().open_maker(source, array, &input, &error);
  EXPECT_TRUE(maker) << error.what;
  Bytes bytes(size_t(channels) * size_t(to.width) * size_t(to.height));
  const mpc_draw draw = {};
  EXPECT_EQ(plugin().make(maker, 0, &draw, bytes.data(), &error), 0) << error.what;
  plugin().close_maker(maker);
  return bytes;
}
} // namespace

/// A JPEG that is decoded at 1/8 has pixels at two edges that the picture covers in part; which ones, its orientation
/// says.
TEST(Resize, OfPicturesAtAReducedScaleIsNotStretched) {
  const Folder folder;
  const Size to{48, 32};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    folder.write("a/x.jpg", Jpeg{.width = 513, .height = 385, .app1 = exif(orientation)}());
    Opened opened(folder.path());
    ASSERT_TRUE(opened) << opened.error.what;
    const Pixels whole = opened.decode(0);
    ASSERT_EQ(whole.width, orientation < 5 ? 513 : 385);
    Bytes planes;
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < whole.height; ++y)
        for (int x = 0; x < whole.width; ++x)
          planes.push_back(uint8_t(whole.at(x, y, c)));
    const mpc_picture_array array = {planes.data(), 3, whole.height, whole.width, "x"};
    const Bytes wanted = made(nullptr, &array, 3, to), bytes = made(opened.source(), nullptr, 3, to);
    // Stretched by the 7 pixels that are missing at an edge, the gradients would be off by 3 and 5 there.
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(bytes[i], wanted[i], 2) << "byte " << i;
  }
}

TEST(Resize, EqualsSumsUnderATriangleAtEverySize) {
  std::mt19937 random(1);
  const auto below = [&](int most) { return int(random() % unsigned(most)) + 1; };
  const Folder folder;
  for (int round = 0; round < 60; ++round) {
    const Size from{below(70), below(50)}, to{below(70), below(50)};
    SCOPED_TRACE(testing::Message() << from.width << "x" << from.height << " to " << to.width << "x" << to.height);
    const int channels = round % 3 == 0 ? 1 : 3;
    Bytes planes(size_t(channels) * size_t(from.width) * size_t(from.height));
    for (uint8_t &byte : planes)
      byte = uint8_t(random());
    const mpc_picture_array array = {planes.data(), channels, from.height, from.width, "x"};
    const Bytes bytes = made(nullptr, &array, channels, to);
    const auto area = ptrdiff_t(to.width) * to.height;
    for (int c = 0; c < channels; ++c) {
      const std::vector<double> expected = resized(planes.data() + ptrdiff_t(c) * from.width * from.height, from, to);
      // A sum that ends in a half may be rounded to either side.
      for (ptrdiff_t i = 0; i < area; ++i)
        ASSERT_NEAR(bytes[size_t(c * area + i)], expected[size_t(i)], 1) << "channel " << c << ", byte " << i;
    }
    // In a file the channels of a pixel lie side by side.
    Png png;
    png.width = uint32_t(from.width), png.height = uint32_t(from.height), png.type = channels == 1 ? 0 : 2;
    png.sample = [&](int x, int y, int c) { return planes[size_t((c * from.height + y) * from.width + x)]; };
    folder.write("a/x.png", png());
    Opened opened(folder.path());
    ASSERT_TRUE(opened) << opened.error.what;
    EXPECT_EQ(made(opened.source(), nullptr, channels, to), bytes);
  }
}
