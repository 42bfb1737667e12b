// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions of decoded pixels, with the results of Pillow's `convert` and `ImageOps.exif_transpose`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpc::images {

/// What a file's header says of its picture, before the orientation is applied.
struct Header {
  int32_t width = 0, height = 0;
  int orientation = 1; ///< EXIF's: 1 to 8
  int reduction = 1;   ///< 1, 2, 4 or 8: a decoded pixel covers so many of the file's in each direction
  /// Returns whether a viewer shows the picture's rows as columns.
  bool sideways() const { return orientation >= 5; }
  /// Returns whether a viewer shows what the file has on its right or bottom on the left, and on the top.
  bool endsOnTheLeft() const { return orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7; }
  bool endsOnTheTop() const { return orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8; }
};

/// Where decoded pixels lie in a picture: pixel (x, y) covers the square of `reduction` pixels in each direction that
/// begins at (left + x * reduction, top + y * reduction). Squares at the edges may reach beyond the picture.
struct Coverage {
  int reduction = 1, left = 0, top = 0;
};

/// The largest width and height, and the most pixels: Pillow refuses what has more (2 * 89478485).
constexpr int64_t kMostExtent = 65535, kMostPixels = 178956970;
/// Throws Error without a place if a picture has no pixels or exceeds the limits.
void checkSize(int64_t width, int64_t height);

/// Replaces `count` pixels of red, green and blue by their luma as ITU-R 601-2 defines it, rounded to nearest.
void rgbToGrey(uint8_t *pixels, size_t count);
/// Replaces `count` pixels of cyan, magenta, yellow and black, stored inverted as Adobe's programs do (255 means no
/// ink), by red, green and blue.
void invertedCmykToRgb(uint8_t *pixels, size_t count);
/// Writes the picture as a viewer shows it. source: [height, width, channels]; target: the same, or with the extents
/// exchanged where the orientation is 5 to 8. The two do not overlap.
void orient(const uint8_t *source, int32_t width, int32_t height, int channels, int orientation, uint8_t *target);

/// Returns the orientation that an EXIF block (a TIFF file) states, or 1 if there is none that is valid.
int exifOrientation(const uint8_t *tiff, size_t bytes);

} // namespace mpc::images
