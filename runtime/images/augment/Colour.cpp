// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/augment/Colour.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace mpc::images {

static uint8_t cut(float value) { return uint8_t(std::clamp(value, 0.0f, 255.0f)); }

/// Returns the luma of a pixel, by ITU-R BT.601, as a whole number.
static uint8_t lumaOf(const uint8_t *planes, size_t pixels, size_t i) {
  return uint8_t(0.2989f * float(planes[i]) + 0.587f * float(planes[pixels + i]) +
                 0.114f * float(planes[2 * pixels + i]));
}

void adjustBrightness(uint8_t *planes, int channels, size_t pixels, double factor) {
  const auto f = float(factor);
  for (size_t i = 0; i < pixels * size_t(channels); ++i)
    planes[i] = cut(f * float(planes[i]));
}

void adjustContrast(uint8_t *planes, int channels, size_t pixels, double factor) {
  uint64_t sum = 0;
  for (size_t i = 0; i < pixels; ++i)
    sum += channels == 3 ? lumaOf(planes, pixels, i) : planes[i];
  const auto f = float(factor), rest = (1 - f) * float(double(sum) / double(pixels));
  for (size_t i = 0; i < pixels * size_t(channels); ++i)
    planes[i] = cut(f * float(planes[i]) + rest);
}

void adjustSaturation(uint8_t *planes, size_t pixels, double factor) {
  const auto f = float(factor);
  for (size_t i = 0; i < pixels; ++i) {
    const float rest = (1 - f) * float(lumaOf(planes, pixels, i));
    for (int c = 0; c < 3; ++c) {
      uint8_t &value = planes[size_t(c) * pixels + i];
      value = cut(f * float(value) + rest);
    }
  }
}

void adjustHue(uint8_t *planes, size_t pixels, double turn) {
  for (size_t i = 0; i < pixels; ++i) {
    uint8_t *of[3] = {planes + i, planes + pixels + i, planes + 2 * pixels + i};
    const float r = float(*of[0]) / 255, g = float(*of[1]) / 255, b = float(*of[2]) / 255;
    const float most = std::max({r, g, b}), least = std::min({r, g, b}), range = most - least;
    if (range == 0)
      continue; // a grey pixel has no hue
    // The hexcone of HSV (Smith, "Color gamut transform pairs", SIGGRAPH 1978).
    float hue = most == r ? (g - b) / range : most == g ? 2 + (b - r) / range : 4 + (r - g) / range;
    hue = hue / 6 + float(turn);
    hue -= std::floor(hue);
    const float sector = std::floor(hue * 6), f = hue * 6 - sector, saturation = range / most;
    const float p = most * (1 - saturation), q = most * (1 - saturation * f), t = most * (1 - saturation * (1 - f));
    const float sectors[6][3] = {{most, t, p}, {q, most, p}, {p, most, t}, {p, q, most}, {t, p, most}, {most, p, q}};
    for (int c = 0; c < 3; ++c) // 255.999 spreads [0, 1] evenly over the bytes
      *of[c] = cut(std::clamp(sectors[int(sector) % 6][c], 0.0f, 1.0f) * 255.999f);
  }
}

void jitter(const PictureStep &step, uint8_t *planes, int channels, size_t pixels, Draws draws) {
  int order[4] = {0, 1, 2, 3};
  for (int left = 4; left > 1; --left)
    std::swap(order[left - 1], order[draws.below(left)]);
  double amount[4];
  for (int i = 0; i < 3; ++i)
    amount[i] = draws.uniform(std::max(0.0, 1 - step.numbers[size_t(i)]), 1 + step.numbers[size_t(i)]);
  amount[3] = draws.uniform(-step.numbers[3], step.numbers[3]);
  for (int which : order) {
    if (step.numbers[size_t(which)] == 0)
      continue;
    if (which == 0)
      adjustBrightness(planes, channels, pixels, amount[0]);
    else if (which == 1)
      adjustContrast(planes, channels, pixels, amount[1]);
    else if (channels == 3)
      which == 2 ? adjustSaturation(planes, pixels, amount[2]) : adjustHue(planes, pixels, amount[3]);
  }
}

void erase(const PictureStep &step, uint8_t *planes, PictureSize size, const std::vector<uint8_t> &values,
           Draws draws) {
  if (draws.uniform() >= step.numbers[0])
    return;
  const double area = double(size.width) * size.height;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double share = area * draws.uniform(0.02, 0.33);
    const double aspect = std::exp(draws.uniform(std::log(0.3), std::log(3.3)));
    const int height = int(std::nearbyint(std::sqrt(share * aspect)));
    const int width = int(std::nearbyint(std::sqrt(share / aspect)));
    if (height < 1 || width < 1 || height >= size.height || width >= size.width)
      continue;
    const int y = draws.below(size.height - height + 1), x = draws.below(size.width - width + 1);
    for (size_t c = 0; c < values.size(); ++c)
      for (int row = y; row < y + height; ++row)
        std::memset(planes + (c * size_t(size.height) + size_t(row)) * size_t(size.width) + x, values[c],
                    size_t(width));
    return;
  }
}

} // namespace mpc::images
