// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/Pixels.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cstring>

namespace mpc::images {

using rt::concat;
using rt::fail;

void checkSize(int64_t width, int64_t height) {
  if (width <= 0 || height <= 0)
    fail("", concat("has ", width, " x ", height, " pixels"), "remove it, or write it again");
  if (width > kMostExtent || height > kMostExtent || width * height > kMostPixels)
    fail("",
         concat("has ", width, " x ", height, " pixels; at most ", kMostExtent, " in each direction and ", kMostPixels,
                " in all are read"),
         "make it smaller, or remove it");
}

void rgbToGrey(uint8_t *pixels, size_t count) {
  // The weights 0.299, 0.587 and 0.114 in units of 2^-16; their sum is 1, so grey stays as it is.
  for (size_t i = 0; i < count; ++i)
    pixels[i] =
        uint8_t((pixels[3 * i] * 19595u + pixels[3 * i + 1] * 38470u + pixels[3 * i + 2] * 7471u + 0x8000u) >> 16);
}

void invertedCmykToRgb(uint8_t *pixels, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    int white = pixels[4 * i + 3]; // what black leaves
    for (int c = 0; c < 3; ++c) {
      int product = (255 - pixels[4 * i + size_t(c)]) * white + 128;
      int ink = ((product >> 8) + product) >> 8; // product / 255, rounded
      pixels[3 * i + size_t(c)] = uint8_t(std::max(0, white - ink));
    }
  }
}

namespace {
/// Where the pixels of a row and the rows themselves lie in the source, in pixels.
struct Walk {
  int64_t start, across, down;
};

Walk walkOf(int64_t width, int64_t height, int orientation) {
  int64_t right = width - 1, bottom = (height - 1) * width;
  switch (orientation) {
  case 2:
    return {right, -1, width};
  case 3:
    return {bottom + right, -1, -width};
  case 4:
    return {bottom, 1, -width};
  case 5:
    return {0, width, 1};
  case 6:
    return {bottom, -width, 1};
  case 7:
    return {bottom + right, -width, -1};
  case 8:
    return {right, width, -1};
  default:
    return {0, 1, width};
  }
}

/// Goes through the target in tiles, so that both pictures stay in the cache where rows become columns.
template <int channels>
void move(const uint8_t *source, Walk walk, int64_t width, int64_t height, uint8_t *target) {
  constexpr int64_t kTile = 32;
  for (int64_t top = 0; top < height; top += kTile)
    for (int64_t left = 0; left < width; left += kTile)
      for (int64_t y = top; y < std::min(top + kTile, height); ++y) {
        uint8_t *to = target + (y * width + left) * channels;
        const uint8_t *from = source + (walk.start + y * walk.down + left * walk.across) * channels;
        for (int64_t x = left; x < std::min(left + kTile, width); ++x) {
          for (int c = 0; c < channels; ++c)
            to[c] = from[c];
          to += channels;
          if (x + 1 < width) // no address outside of the picture is formed
            from += walk.across * channels;
        }
      }
}
} // namespace

void orient(const uint8_t *source, int32_t width, int32_t height, int channels, int orientation, uint8_t *target) {
  Walk walk = walkOf(width, height, orientation);
  if (orientation >= 5)
    std::swap(width, height);
  if (channels == 1)
    move<1>(source, walk, width, height, target);
  else
    move<3>(source, walk, width, height, target);
}

int exifOrientation(const uint8_t *tiff, size_t bytes) {
  constexpr uint32_t kTag = 0x0112, kShort = 3;
  if (bytes < 8)
    return 1;
  bool little = std::memcmp(tiff, "II*\0", 4) == 0;
  if (!little && std::memcmp(tiff, "MM\0*", 4) != 0)
    return 1;
  auto number = [&](size_t at, int length) {
    uint32_t value = 0;
    for (int i = 0; i < length; ++i)
      value = value << 8 | tiff[at + size_t(little ? length - 1 - i : i)];
    return value;
  };
  size_t at = number(4, 4);
  if (at > bytes - 2)
    return 1;
  size_t entries = number(at, 2);
  for (at += 2; entries > 0 && at + 12 <= bytes; --entries, at += 12)
    if (number(at, 2) == kTag && number(at + 2, 2) == kShort) {
      uint32_t value = number(at + 8, 2);
      return value >= 1 && value <= 8 ? int(value) : 1;
    }
  return 1;
}

} // namespace mpc::images
