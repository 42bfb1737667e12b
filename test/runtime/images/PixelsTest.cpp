// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of pixels.
#include "Files.h"
#include "Plugin.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

namespace mpc::images::test {
namespace {
/// Returns the pixels of one file.
Pixels decode(const std::string &bytes, int channels = 3, int width = INT32_MAX, int height = INT32_MAX) {
  Folder folder;
  folder.write("x.jpg", bytes);
  Opened source(folder.path());
  Pixels pixels = source.decode(0, channels, width, height);
  EXPECT_STREQ(source.error.what, "");
  return pixels;
}

/// Luma as Pillow computes it.
int luma(int red, int green, int blue) { return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16; }

/// A pixel of the test picture. In steps of 1 each DCT coefficient is rounded by up to 1/2, which is an error of less
/// than 1 on average but of 4 in the worst pixel seen; colours at half the resolution add their change from pixel to
/// pixel.
constexpr int kRounding = 4;

/// Returns the largest difference to the test picture, as three channels or one.
int distance(const Pixels &pixels, bool grey = false) {
  int most = 0;
  for (int y = 0; y < pixels.height; ++y)
    for (int x = 0; x < pixels.width; ++x) {
      int rgb[3];
      for (int c = 0; c < 3; ++c)
        rgb[c] = gradient(x, y, grey ? 0 : c, pixels.width, pixels.height);
      for (int c = 0; c < pixels.channels; ++c)
        most = std::max(most,
                        std::abs(pixels.at(x, y, c) - (pixels.channels == 1 ? luma(rgb[0], rgb[1], rgb[2]) : rgb[c])));
    }
  return most;
}
} // namespace

TEST(JpegPixels, AreThoseOfThePicture) {
  for (bool progressive : {false, true})
    for (int restart : {0, 3})
      for (int channels : {1, 3}) {
        SCOPED_TRACE(testing::Message() << progressive << restart << channels);
        EXPECT_LE(distance(decode(Jpeg{.progressive = progressive, .restart = restart}(), channels)), kRounding);
        EXPECT_LE(
            distance(decode(Jpeg{.channels = 1, .progressive = progressive, .restart = restart}(), channels), true),
            kRounding);
      }
  EXPECT_LE(distance(decode(Jpeg{.ycc = false}())), kRounding);
  // The largest change from pixel to pixel is 255 / 20.
  EXPECT_LE(distance(decode(Jpeg{.subsampling = 2}())), kRounding + 13);
}

TEST(JpegPixels, OfFourInksAreConverted) {
  for (bool ycc : {false, true}) {
    Pixels pixels = decode(Jpeg{.channels = 4, .ycc = ycc}());
    int most = 0;
    for (int y = 0; y < pixels.height; ++y)
      for (int x = 0; x < pixels.width; ++x)
        for (int c = 0; c < 3; ++c) {
          // The test picture's channels are inks, and the last is black: light = (1 - ink) (1 - black).
          double ink = gradient(x, y, c, 33, 21) / 255., black = gradient(x, y, 3, 33, 21) / 255.;
          most = std::max(most, std::abs(pixels.at(x, y, c) - int(std::lround(255 * (1 - ink) * (1 - black)))));
        }
    EXPECT_LE(most, kRounding) << ycc;
  }
}

TEST(JpegPixels, AreDecodedAtTheSmallestScaleThatSuffices) {
  const std::string jpeg = Jpeg{.width = 101, .height = 61}(),
                    sideways = Jpeg{.width = 101, .height = 61, .app1 = exif(6)}();
  struct Case {
    int leastWidth, leastHeight, width, height;
  };
  constexpr Case kCases[] = {{0, 0, 13, 8},      {-1, -1, 13, 8},    {13, 8, 13, 8},    {14, 8, 26, 16},
                             {13, 9, 26, 16},    {26, 16, 26, 16},   {27, 1, 51, 31},   {51, 31, 51, 31},
                             {51, 32, 101, 61},  {101, 61, 101, 61}, {500, 1, 101, 61}, {1, 62, 101, 61},
                             {300, 300, 101, 61}};
  for (const Case &c : kCases) {
    SCOPED_TRACE(testing::Message() << c.leastWidth << " x " << c.leastHeight);
    Pixels pixels = decode(jpeg, 3, c.leastWidth, c.leastHeight),
           turned = decode(sideways, 3, c.leastHeight, c.leastWidth);
    EXPECT_EQ(pixels.width, c.width);
    EXPECT_EQ(pixels.height, c.height);
    EXPECT_EQ(turned.width, c.height);
    EXPECT_EQ(turned.height, c.width);
    // A pixel is the mean of its block, whose centre lies elsewhere than that of the gradient at this size, and the
    // last ones are those of blocks that the picture fills in part.
    EXPECT_LE(distance(pixels), pixels.width == 101 ? kRounding : 255 / pixels.height + kRounding);
  }
}

TEST(JpegPixels, CanBeDecodedTwice) {
  Folder folder;
  folder.write("x.jpg", Jpeg{.width = 64, .height = 64}());
  folder.write("y.png", Png{.width = 64}());
  Opened source(folder.path());
  mpc_data_reader *reader = plugin().open_reader(source.source());
  mpc_picture_size size;
  mpc_picture picture;
  mpc_data_error error = {};
  for (int64_t sample : {0, 1}) {
    ASSERT_EQ(plugin().look(reader, sample, &size, &error), 0);
    for (int channels : {3, 1, 3}) {
      EXPECT_EQ(plugin().decode(reader, channels, INT32_MAX, INT32_MAX, &picture, &error), 0) << error.what;
      EXPECT_EQ(picture.width, 64);
      EXPECT_EQ(picture.channels, channels);
    }
  }
  plugin().close_reader(reader);
  mpc_data_reader *fresh = plugin().open_reader(source.source()); // without look()
  EXPECT_EQ(plugin().decode(fresh, 3, 1, 1, &picture, &error), -1);
  EXPECT_EQ(std::string(error.what).substr(0, 11), "is not open");
  plugin().close_reader(fresh);
}

TEST(PngPixels, AreExact) {
  struct Form {
    int type, depth;
  };
  constexpr Form kForms[] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                             {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};
  for (Form form : kForms)
    for (int interlace : {0, 1}) {
      SCOPED_TRACE(testing::Message() << "type " << form.type << " depth " << form.depth << " interlace " << interlace);
      Png png{.width = 21, .height = 13, .depth = form.depth, .type = form.type, .interlace = interlace};
      if (form.depth == 16)
        png.sample = [](int x, int y, int c) { return uint32_t(x * 3011 + y * 1777 + c * 7919); };
      std::string bytes = png();
      Pixels rgb = decode(bytes), grey = decode(bytes, 1);
      ASSERT_EQ(rgb.bytes.size(), 21u * 13 * 3);
      ASSERT_EQ(grey.bytes.size(), 21u * 13);
      int wrong = 0;
      for (int y = 0; y < 13; ++y)
        for (int x = 0; x < 21; ++x) {
          int expected[3];
          for (int c = 0; c < 3; ++c) {
            int value = int(png.at(x, y, form.type == 2 || form.type == 6 ? c : 0));
            if (form.type == 3)
              expected[c] = uint8_t((value * 3 + c) * 37 + 5); // the palette of Files.cpp
            else
              expected[c] = form.depth == 16 ? value >> 8 : value * 255 / ((1 << form.depth) - 1);
            wrong += rgb.at(x, y, c) != expected[c];
          }
          wrong += grey.at(x, y) != luma(expected[0], expected[1], expected[2]);
        }
      EXPECT_EQ(wrong, 0);
    }
}

TEST(PngPixels, IgnoreTransparentColours) {
  Png png{.depth = 8, .type = 0, .before = chunk("tRNS", std::string("\0\x1f", 2))};
  Pixels rgb = decode(png());
  EXPECT_EQ(rgb.at(1, 0), 31); // the colour that would be transparent
  Png palette{.depth = 2, .type = 3, .before = chunk("tRNS", std::string("\0\0", 2))};
  EXPECT_EQ(decode(palette()).at(0, 0), 5);
}

TEST(Orientation, IsWhatAViewerShows) {
  // Where the stored pixel (0, 0) and the stored pixel (4, 0) of 5 x 3 pixels are shown.
  struct Place {
    int x0, y0, x4, y4;
  };
  constexpr Place kPlaces[] = {{0, 0, 4, 0}, {4, 0, 0, 0}, {4, 2, 0, 2}, {0, 2, 4, 2},
                               {0, 0, 0, 4}, {2, 0, 2, 4}, {2, 4, 2, 0}, {0, 4, 0, 0}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    Png png{.width = 5, .height = 3, .before = chunk("eXIf", exif(orientation).substr(6))};
    const Place &place = kPlaces[orientation - 1];
    for (int channels : {3, 1}) {
      Pixels pixels = decode(png(), channels);
      EXPECT_EQ(pixels.width, orientation < 5 ? 5 : 3);
      EXPECT_EQ(pixels.height, orientation < 5 ? 3 : 5);
      for (int c = 0; c < channels; ++c) {
        auto stored = [&](int x) {
          return channels == 3 ? int(png.at(x, 0, c))
                               : luma(int(png.at(x, 0, 0)), int(png.at(x, 0, 1)), int(png.at(x, 0, 2)));
        };
        EXPECT_EQ(pixels.at(place.x0, place.y0, c), stored(0));
        EXPECT_EQ(pixels.at(place.x4, place.y4, c), stored(4));
      }
    }
    // A large picture, which is turned in tiles, has the same pixels as the small one's rule.
    Png large{.width = 77, .height = 45, .before = png.before};
    Pixels turned = decode(large()), plain = decode(Png{.width = 77, .height = 45}());
    int right = turned.width - 1, bottom = turned.height - 1, wrong = 0;
    for (int y = 0; y <= bottom; ++y)
      for (int x = 0; x <= right; ++x) {
        int across = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7 ? right - x : x;
        int down = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8 ? bottom - y : y;
        if (orientation >= 5)
          std::swap(across, down);
        for (int c = 0; c < 3; ++c)
          wrong += turned.at(x, y, c) != plain.at(across, down, c);
      }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Png, EncodedPixelsAreTheSame) {
  for (int channels : {1, 3})
    for (auto [width, height] : {std::pair(1, 1), std::pair(33, 21), std::pair(1, 300), std::pair(300, 1)}) {
      constexpr int kPadding = 5; // of each row
      const int rowBytes = width * channels + kPadding;
      std::vector<uint8_t> pixels(size_t(rowBytes * height));
      for (size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = uint8_t(i * 2654435761u >> 13);
      const mpc_picture picture{width, height, channels, rowBytes, pixels.data()};
      uint8_t *bytes = nullptr;
      size_t count = 0;
      mpc_data_error error = {};
      ASSERT_EQ(plugin().encode_png(&picture, &bytes, &count, &error), 0) << error.what;
      const std::string file(reinterpret_cast<const char *>(bytes), count);
      std::free(bytes);
      const Pixels found = decode(file, channels);
      ASSERT_EQ(found.width, width);
      ASSERT_EQ(found.height, height);
      int wrong = 0;
      for (int y = 0; y < height; ++y)
        for (int x = 0; x < width * channels; ++x)
          wrong += found.bytes[size_t(y * width * channels + x)] != pixels[size_t(y * rowBytes + x)];
      EXPECT_EQ(wrong, 0);
    }
}

TEST(Png, APictureWithoutPixelsIsNotEncoded) {
  const mpc_picture picture{0, 4, 1, 0, nullptr};
  uint8_t *bytes = nullptr;
  size_t count = 0;
  mpc_data_error error = {};
  EXPECT_EQ(plugin().encode_png(&picture, &bytes, &count, &error), -1);
  EXPECT_NE(std::string(error.what).find("cannot be made a PNG picture"), std::string::npos) << error.what;
}

} // namespace mpc::images::test
