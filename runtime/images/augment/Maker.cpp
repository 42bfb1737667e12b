// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/augment/Maker.h"

#include "runtime/images/augment/Colour.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpc::images {

Maker::Maker(std::unique_ptr<Pictures> pictures, const mpc_picture_input &input)
    : pictures_(std::move(pictures)), channels_(input.channels), size_{input.width, input.height},
      transform_(PictureSteps::parse(input.transform, kTransform)),
      augment_(PictureSteps::parse(input.augment, kAugment)), erased_(input.erased, input.erased + input.channels) {
  for (const PictureStep &step : augment_.steps)
    if (step.kind == PictureStep::Jitter && channels_ != 1 && channels_ != 3)
      rt::fail(kAugment, rt::concat("jitter changes colours, and the input takes ", channels_, " channels"),
               "leave jitter out");
}

/// Exchanges left and right of each line, or top and bottom.
static void flipPlane(uint8_t *plane, PictureSize size, bool vertical) {
  const auto width = size_t(size.width);
  for (int y = 0; y < (vertical ? size.height / 2 : size.height); ++y) {
    uint8_t *line = plane + size_t(y) * width;
    if (vertical)
      std::swap_ranges(line, line + width, plane + size_t(size.height - 1 - y) * width);
    else
      std::reverse(line, line + width);
  }
}

/// Copies a window of a picture; the window lies inside the picture.
static void copyWindow(const PictureView &view, const Window &window, uint8_t *out, ptrdiff_t row, ptrdiff_t plane) {
  for (int c = 0; c < view.channels; ++c)
    for (int y = 0; y < window.size.height; ++y) {
      const uint8_t *from = view.pixels + (window.y + y) * view.row + window.x * view.pixel + c * view.plane;
      uint8_t *to = out + c * plane + y * row;
      if (view.pixel == 1)
        std::memcpy(to, from, size_t(window.size.width));
      else
        for (int x = 0; x < window.size.width; ++x)
          to[x] = from[x * view.pixel];
    }
}

void Maker::make(int64_t sample, const mpc_draw &draw, uint8_t *planes) {
  const PictureSize full = pictures_->look(sample);
  const Geometry g = geometryOf(transform_, augment_, full, size_, draw, sample, [&] { return pictures_->describe(); });
  const bool whole = g.resized.width == g.box.width && g.resized.height == g.box.height; // nothing is resized
  // Decode as many pixels as the box needs to have at least those of the result.
  PictureSize least = full;
  if (!whole)
    least = {int(std::ceil(full.width * std::min(1.0, g.resized.width / g.box.width))),
             int(std::ceil(full.height * std::min(1.0, g.resized.height / g.box.height)))};
  const PictureView view = pictures_->decode(channels_, least);
  // The part of the window that is visible.
  const int left = std::max(g.visible.x, g.window.x), top = std::max(g.visible.y, g.window.y);
  const Window inside{left,
                      top,
                      {std::min(g.window.x + size_.width, g.visible.x + g.visible.size.width) - left,
                       std::min(g.window.y + size_.height, g.visible.y + g.visible.size.height) - top}};
  const ptrdiff_t row = size_.width, plane = row * size_.height;
  const size_t pixels = size_t(plane);
  if (!(inside.size == size_))
    std::memset(planes, 0, pixels * size_t(channels_));
  if (inside.size.width > 0 && inside.size.height > 0) {
    uint8_t *to = planes + (top - g.window.y) * row + (left - g.window.x);
    const double shrunkX = double(view.size.width) / full.width, shrunkY = double(view.size.height) / full.height;
    if (whole)
      copyWindow(view, {int(g.box.x) + inside.x, int(g.box.y) + inside.y, inside.size}, to, row, plane);
    else
      resizer_.run(view, {g.box.x * shrunkX, g.box.y * shrunkY, g.box.width * shrunkX, g.box.height * shrunkY},
                   g.resized, inside, to, row, plane);
  }
  for (int c = 0; c < channels_; ++c) {
    if (g.flip)
      flipPlane(planes + size_t(c) * pixels, size_, /*vertical=*/false);
    if (g.verticalFlip)
      flipPlane(planes + size_t(c) * pixels, size_, /*vertical=*/true);
  }
  for (size_t i = 0; draw.random && i < augment_.steps.size(); ++i) {
    const PictureStep &step = augment_.steps[i];
    if (step.kind == PictureStep::Jitter)
      jitter(step, planes, channels_, pixels, Draws(draw, sample, i));
    else if (step.kind == PictureStep::Erase)
      erase(step, planes, size_, erased_, Draws(draw, sample, i));
  }
}

} // namespace mpc::images
