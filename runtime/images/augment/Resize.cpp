// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/augment/Resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpc::images {

/// Weights have this many bits behind the point, as in Pillow: a sum of products with bytes fits 32 bits.
static constexpr int kFraction = 22;

// The loops below do most of the work for a picture, so that they are also compiled for wider vectors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define MPC_HOT __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MPC_HOT
#endif

/// So many bytes are summed at a time, and so many lines of a picture go through the pass along rows together.
static constexpr int kLanes = 16;

/// Sums bytes: out[x] = sum over tap of weights[tap] * in[tap * step + x] for kLanes x.
static inline __attribute__((always_inline)) void sumBytes(const uint8_t *in, ptrdiff_t step, const int32_t *weights,
                                                           int taps, uint8_t *out) {
  int32_t sums[kLanes];
  for (int32_t &sum : sums)
    sum = 1 << (kFraction - 1);
  for (int tap = 0; tap < taps; ++tap)
    for (int x = 0; x < kLanes; ++x)
      sums[x] += weights[tap] * in[tap * step + x];
  for (int x = 0; x < kLanes; ++x)
    out[x] = uint8_t(std::min(sums[x] >> kFraction, 255)); // not below 0, because no weight is
}

/// Transposes kLanes x kLanes bytes.
static void transpose(const uint8_t *in, ptrdiff_t inStep, uint8_t *out, ptrdiff_t outStep) {
  static_assert(kLanes == 16);
  using Bytes = uint8_t __attribute__((vector_size(kLanes)));
  Bytes rows[kLanes], shuffled[kLanes];
  for (int i = 0; i < kLanes; ++i)
    std::memcpy(&rows[i], in + i * inStep, sizeof(Bytes));
  // Each round moves one bit of a byte's row number to its column number, and one of the latter to the former.
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kLanes / 2; ++i) {
      const Bytes a = rows[i], b = rows[i + kLanes / 2];
      shuffled[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      shuffled[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    std::copy(shuffled, shuffled + kLanes, rows);
  }
  for (int i = 0; i < kLanes; ++i)
    std::memcpy(out + i * outStep, &rows[i], sizeof(Bytes));
}

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

/// Sums along kLanes lines that were transposed, and hold the pixels from `low` to `high`: the byte of a pixel, a
/// channel and a line is at in + ((pixel - low) * step + channel) * kLanes + line. `out` has the same form, with pixels
/// from 0 to `count` and a step of `channels`.
MPC_HOT static void sumAlongLines(const uint8_t *in, ptrdiff_t step, int channels, const int *first,
                                  const int32_t *weights, int taps, int low, int high, int count, uint8_t *out) {
  for (int i = 0; i < count; ++i, weights += taps) {
    const uint8_t *pixel = in + (first[i] - low) * step * kLanes;
    const int used = std::min(taps, high - first[i]);
    for (int c = 0; c < channels; ++c, out += kLanes)
      sumBytes(pixel + c * kLanes, step * kLanes, weights, used, out);
  }
}

/// Sums whole lines: out[x] = sum over tap of weights[tap] * lines[tap * row + x], in blocks of kLanes.
MPC_HOT static void sumLines(const uint8_t *lines, ptrdiff_t row, const int32_t *weights, int taps, int count,
                             uint8_t *out) {
  int x = 0;
  for (; x + kLanes <= count; x += kLanes)
    sumBytes(lines + x, row, weights, taps, out + x);
  if (x < count) {
    uint8_t last[kLanes];
    sumBytes(lines + x, row, weights, taps, last);
    std::memcpy(out + x, last, size_t(count - x));
  }
}

static int roundUp(int count) { return (count + kLanes - 1) / kLanes * kLanes; }

/// The first pass, for the channels of `picture` (one, or several that lie side by side) in kLanes lines, of which
/// `count` exist. Writes byte x of a line and a channel to out + channel * plane + line * row + x.
void Resizer::resizeLines(const PictureView &picture, int count, uint8_t *out, ptrdiff_t row, ptrdiff_t plane) {
  const int channels = picture.channels, width = int(columns_.first.size());
  const int low = columns_.first.front(), high = std::min(picture.size.width, columns_.first.back() + columns_.taps);
  const uint8_t *pixels = picture.pixels + low * picture.pixel;
  const auto bytes = int((high - low - 1) * picture.pixel) + channels; // of a line
  transposed_.resize(size_t(roundUp(bytes)) * kLanes);
  for (int x = 0; x < bytes; x += kLanes) {
    uint8_t *to = transposed_.data() + x * kLanes;
    if (count == kLanes && x + kLanes <= bytes) {
      transpose(pixels + x, picture.row, to, kLanes);
      continue;
    }
    uint8_t block[kLanes * kLanes] = {};
    for (int line = 0; line < count; ++line)
      std::memcpy(block + line * kLanes, pixels + line * picture.row + x, size_t(std::min(kLanes, bytes - x)));
    transpose(block, kLanes, to, kLanes);
  }
  sums_.resize(size_t(roundUp(width)) * size_t(channels) * kLanes);
  sumAlongLines(transposed_.data(), picture.pixel, channels, columns_.first.data(), columns_.value.data(),
                columns_.taps, low, high, width, sums_.data());
  for (int channel = 0; channel < channels; ++channel)
    for (int x = 0; x < width; x += kLanes)
      transpose(sums_.data() + (x * channels + channel) * kLanes, ptrdiff_t(channels) * kLanes,
                out + channel * plane + x, row);
}

void Resizer::run(const PictureView &picture, const Box &box, PictureSize resized, const Window &window, uint8_t *out,
                  ptrdiff_t row, ptrdiff_t plane) {
  const int width = window.size.width, height = window.size.height;
  columns_.compute(picture.size.width, box.x, box.width, resized.width, window.x, width);
  rows_.compute(picture.size.height, box.y, box.height, resized.height, window.y, height);
  // The lines that the second pass reads.
  const int low = rows_.first.front(), high = std::min(picture.size.height, rows_.first.back() + rows_.taps);
  const int count = std::min(kLanes, high - low);
  const ptrdiff_t pitch = roundUp(width), area = std::max(kLanes, high - low) * pitch;
  lines_.resize(size_t(area) * size_t(picture.channels));
  PictureView group = picture;
  group.channels = picture.plane == 1 ? picture.channels : 1; // the channels that lie side by side
  for (int c = 0; c < picture.channels; c += group.channels)
    for (int y = low; y < high; y += kLanes) {
      const int begin = std::max(low, std::min(y, high - kLanes)); // the last lines may be resized twice
      group.pixels = picture.pixels + begin * picture.row + c * picture.plane;
      resizeLines(group, count, lines_.data() + c * area + (begin - low) * pitch, pitch, area);
    }
  for (int c = 0; c < picture.channels; ++c)
    for (int y = 0; y < height; ++y) {
      const int first = rows_.first[size_t(y)], taps = std::min(rows_.taps, high - first);
      sumLines(lines_.data() + c * area + (first - low) * pitch, pitch, rows_.value.data() + ptrdiff_t(y) * rows_.taps,
               taps, width, out + c * plane + y * row);
    }
}

} // namespace mpc::images
