// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/augment/Resize.h"

#include <algorithm>
#include <cmath>

namespace mpc::images {

/// Weights have this many bits behind the point, as in Pillow: a sum of products with bytes fits 32 bits.
static constexpr int kFraction = 22;

// The loops below do most of the work for a picture, so that they are also compiled for AVX2.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MPC_HOT __attribute__((target_clones("avx2", "default")))
#else
#define MPC_HOT
#endif

static uint8_t rounded(int32_t sum) { return uint8_t(std::clamp(sum >> kFraction, 0, 255)); }

void Resizer::Weights::compute(int extent, double begin, double length, int resized, int from, int count) {
  const double scale = length / resized, filter = std::max(scale, 1.0); // `filter` is half the triangle's width
  const double sharpness = 1 / filter;
  taps = int(std::ceil(filter)) * 2 + 1;
  const int low = int(std::floor(begin)), high = std::min(extent, int(std::ceil(begin + length)));
  first.assign(size_t(count), 0);
  value.assign(size_t(count) * size_t(taps), 0);
  std::vector<double> weights(static_cast<size_t>(taps));
  for (int i = 0; i < count; ++i) {
    const double center = begin + (from + i + 0.5) * scale;
    const int begins = std::clamp(int(center - filter + 0.5), low, high - 1);
    const int ends = std::clamp(int(center + filter + 0.5), begins + 1, high);
    double sum = 0;
    for (int tap = 0; tap < ends - begins && tap < taps; ++tap) {
      weights[size_t(tap)] = std::max(0.0, 1 - std::abs((tap + begins - center + 0.5) * sharpness));
      sum += weights[size_t(tap)];
    }
    first[size_t(i)] = begins;
    for (int tap = 0; tap < ends - begins && tap < taps; ++tap) {
      // Only where rounding leaves a single pixel can its weight be 0.
      double weight = sum > 0 ? weights[size_t(tap)] / sum : double(tap == 0);
      value[size_t(i) * size_t(taps) + size_t(tap)] = int32_t(std::floor(weight * (1 << kFraction) + 0.5));
    }
  }
}

/// Sums along a row: out[i] = sum over tap of weights[i, tap] * line[(first[i] + tap) * step].
MPC_HOT static void sumAlongRow(const uint8_t *line, ptrdiff_t step, const int *first, const int32_t *weights, int taps,
                                int extent, int count, uint8_t *out) {
  for (int i = 0; i < count; ++i, weights += taps) {
    const uint8_t *pixel = line + first[i] * step;
    int32_t sum = 1 << (kFraction - 1);
    const int used = std::min(taps, extent - first[i]);
    for (int tap = 0; tap < used; ++tap)
      sum += weights[tap] * pixel[tap * step];
    out[i] = rounded(sum);
  }
}

/// Sums whole lines: out[x] = sum over tap of weights[tap] * lines[tap * row + x].
MPC_HOT static void sumLines(const uint8_t *lines, ptrdiff_t row, const int32_t *weights, int taps, int count,
                             uint8_t *out) {
  constexpr int kBlock = 64;
  int32_t sums[kBlock];
  for (int x = 0; x < count; x += kBlock) {
    const int width = std::min(kBlock, count - x);
    for (int32_t &sum : sums)
      sum = 1 << (kFraction - 1);
    for (int tap = 0; tap < taps; ++tap) {
      const int32_t weight = weights[tap];
      const uint8_t *line = lines + tap * row + x;
      for (int i = 0; i < width; ++i)
        sums[i] += weight * line[i];
    }
    for (int i = 0; i < width; ++i)
      out[x + i] = rounded(sums[i]);
  }
}

void Resizer::run(const PictureView &picture, const Box &box, PictureSize resized, const Window &window, uint8_t *out,
                  ptrdiff_t row, ptrdiff_t plane) {
  const int width = window.size.width, height = window.size.height;
  columns_.compute(picture.size.width, box.x, box.width, resized.width, window.x, width);
  rows_.compute(picture.size.height, box.y, box.height, resized.height, window.y, height);
  // The lines that the second pass reads.
  const int low = rows_.first.front(), high = std::min(picture.size.height, rows_.first.back() + rows_.taps);
  lines_.resize(size_t(high - low) * size_t(width));
  for (int c = 0; c < picture.channels; ++c) {
    for (int y = low; y < high; ++y)
      sumAlongRow(picture.pixels + y * picture.row + c * picture.plane, picture.pixel, columns_.first.data(),
                  columns_.value.data(), columns_.taps, picture.size.width, width,
                  lines_.data() + ptrdiff_t(y - low) * width);
    for (int y = 0; y < height; ++y) {
      const int first = rows_.first[size_t(y)], taps = std::min(rows_.taps, high - first);
      sumLines(lines_.data() + ptrdiff_t(first - low) * width, width, rows_.value.data() + ptrdiff_t(y) * rows_.taps,
               taps, width, out + c * plane + y * row);
    }
  }
}

} // namespace mpc::images
