// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resizes pictures with antialiasing.
#pragma once

#include "runtime/images/augment/Picture.h"

#include <vector>

namespace mpc::images {

/// A part of a picture, in pixels; the corners may lie inside pixels.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// A part of a picture whose corners are corners of pixels.
struct Window {
  int x = 0, y = 0;
  PictureSize size;
};

/// Resizes with a triangle filter that is as wide as a pixel of the result (or of the picture, where that is larger),
/// first along rows, then along columns, each time rounded to bytes. This is what Pillow calls BILINEAR and torchvision
/// bilinear with antialias, and the values are Pillow's.
class Resizer {
public:
  /// Resizes the box to `resized` pixels, and writes a window of that: channel c of row y begins at
  /// out + c * plane + y * row. No pixel outside the box is read. The window must lie in the resized picture.
  void run(const PictureView &picture, const Box &box, PictureSize resized, const Window &window, uint8_t *out,
           ptrdiff_t row, ptrdiff_t plane);

private:
  /// The weights of the pixels that each pixel of the result is the sum of, along one direction.
  struct Weights {
    int taps = 0;               // at most so many for each
    std::vector<int> first;     // the first pixel, one for each pixel of the result
    std::vector<int32_t> value; // taps for each, fixed point with kFraction bits; 0 behind the last
    void compute(int extent, double begin, double length, int resized, int from, int count);
  };
  void resizeLines(const PictureView &picture, int count, uint8_t *out, ptrdiff_t row, ptrdiff_t plane);

  Weights columns_, rows_;
  std::vector<uint8_t> transposed_, sums_; // some lines of the picture before and after the pass along rows, transposed
  std::vector<uint8_t> lines_;             // the picture after that pass: [channels, lines, window.width rounded up]
};

} // namespace mpc::images
