// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/Drawing.h"

#include "runtime/images/Font.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mpc::images {

/// Pictures whose longer side is below this become larger.
static constexpr int kReadableSide = 384;
/// The pixels of a frame's line.
static constexpr int kLine = 2;

Colour colourOf(int64_t label) {
  static constexpr Colour kColours[] = {{255, 56, 56},  {0, 194, 255},  {72, 249, 10},  {255, 178, 29},
                                        {203, 56, 255}, {61, 219, 134}, {255, 55, 199}, {52, 69, 255},
                                        {207, 210, 49}, {255, 112, 31}, {0, 212, 187},  {132, 56, 255}};
  return kColours[uint64_t(label) % std::size(kColours)];
}

Canvas::Canvas(const uint8_t *planes, int channels, PictureSize size)
    : factor_(std::max(1, (kReadableSide + std::max(size.width, size.height) - 1) / std::max(size.width, size.height))),
      size_{size.width * factor_, size.height * factor_}, pixels_(size_t(size_.width) * size_t(size_.height) * 3) {
  const size_t plane = size_t(size.width) * size_t(size.height);
  uint8_t *to = pixels_.data();
  for (int y = 0; y < size_.height; ++y)
    for (int x = 0; x < size_.width; ++x)
      for (size_t c = 0; c < 3; ++c)
        *to++ =
            planes[(channels == 1 ? 0 : c * plane) + size_t(y / factor_) * size_t(size.width) + size_t(x / factor_)];
}

Canvas::Area Canvas::areaOf(const float corners[4]) const {
  for (int i = 0; i < 4; ++i)
    if (std::isnan(corners[i]))
      return {0, 0, 0, 0};
  auto place = [&](float corner, int most) {
    return int(std::lround(std::clamp(double(corner) * factor_, 0.0, double(most))));
  };
  return {place(corners[0], size_.width), place(corners[1], size_.height), place(corners[2], size_.width),
          place(corners[3], size_.height)};
}

void Canvas::fill(Area area, Colour colour) {
  area = {std::max(area.left, 0), std::max(area.top, 0), std::min(area.right, size_.width),
          std::min(area.bottom, size_.height)};
  for (int y = area.top; y < area.bottom; ++y)
    for (int x = area.left; x < area.right; ++x) {
      uint8_t *pixel = pixels_.data() + (size_t(y) * size_t(size_.width) + size_t(x)) * 3;
      pixel[0] = colour.red, pixel[1] = colour.green, pixel[2] = colour.blue;
    }
}

bool Canvas::frame(const float corners[4], Colour colour) {
  const Area box = areaOf(corners);
  if (box.left >= box.right || box.top >= box.bottom)
    return false;
  const int right = std::max(box.right - kLine, box.left), bottom = std::max(box.bottom - kLine, box.top);
  fill({box.left, box.top, box.right, std::min(box.top + kLine, box.bottom)}, colour);
  fill({box.left, bottom, box.right, box.bottom}, colour);
  fill({box.left, box.top, std::min(box.left + kLine, box.right), box.bottom}, colour);
  fill({right, box.top, box.right, box.bottom}, colour);
  return true;
}

/// Returns the number of letters, which are code points of UTF-8.
static int lettersOf(std::string_view text) {
  return int(std::count_if(text.begin(), text.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; }));
}

void Canvas::caption(const float corners[4], Colour colour, std::string_view text) {
  const Area box = areaOf(corners);
  const int width = lettersOf(text) * (kLetterWidth + 1) + 1, height = kLetterHeight + 2;
  // The caption moves to the left where it would leave the picture.
  const int left = std::max(0, std::min(box.left, size_.width - width));
  const int top = box.top >= height ? box.top - height : box.top;
  fill({left, top, left + width, top + height}, colour);
  const bool bright = colour.red * 299 + colour.green * 587 + colour.blue * 114 > 128'000;
  const Colour ink = bright ? Colour{0, 0, 0} : Colour{255, 255, 255};
  int x = left + 1;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((uint8_t(text[i]) & 0xc0) == 0x80)
      continue; // a letter's further bytes
    for (int column = 0; column < kLetterWidth; ++column)
      for (int row = 0; row < kLetterHeight; ++row)
        if (letter(text[i])[column] >> row & 1)
          fill({x + column, top + 1 + row, x + column + 1, top + 2 + row}, ink);
    x += kLetterWidth + 1;
  }
}

} // namespace mpc::images
