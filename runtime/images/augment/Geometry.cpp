// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/augment/Geometry.h"

#include "runtime/images/augment/Region.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace mpc::images {

using rt::concat;
using rt::fail;

/// The longest side of a resized picture. Only a window of it is ever made.
static constexpr int64_t kLongestSide = 1 << 26;

/// Resizes everything, as torchvision's Resize does.
static void resize(Geometry &g, const PictureStep &step, PictureSize target, rt::FunctionRef<std::string()> where) {
  PictureSize to = target;
  if (step.numbers.size() == 2) {
    to = {int(step.numbers[1]), int(step.numbers[0])};
  } else if (step.numbers.size() == 1) {
    const int64_t side = int64_t(step.numbers[0]), width = g.resized.width, height = g.resized.height;
    const int64_t longer = side * std::max(width, height) / std::min(width, height);
    if (longer > kLongestSide)
      fail(where(), concat("the picture would have a side of ", longer, " pixels after resize:", side),
           "remove it, or write resize alone, which changes its shape");
    to = width <= height ? PictureSize{int(side), int(longer)} : PictureSize{int(longer), int(side)};
  }
  g.resized = to;
  g.window = g.visible = {0, 0, to};
}

/// Returns where the middle part of a side begins, as torchvision's center_crop rounds it; below 0 if the side is
/// shorter than the part.
static int centered(int side, int part) {
  return part > side ? -((part - side) / 2) : int(std::nearbyint((side - part) / 2.0));
}

/// Takes a window. What is outside the window before it is black from now on.
static void crop(Geometry &g, int x, int y, PictureSize size) {
  const int left = std::max(g.visible.x, g.window.x), top = std::max(g.visible.y, g.window.y);
  const int right = std::min(g.visible.x + g.visible.size.width, g.window.x + g.window.size.width);
  const int bottom = std::min(g.visible.y + g.visible.size.height, g.window.y + g.window.size.height);
  g.visible = {left, top, {std::max(0, right - left), std::max(0, bottom - top)}};
  g.window = {x, y, size};
}

/// Draws a part of the picture of random size and shape (Szegedy et al., "Going deeper with convolutions", 2015), as
/// torchvision's RandomResizedCrop does.
static void randomResizedCrop(Geometry &g, const PictureStep &step, PictureSize size, PictureSize target, Draws draws) {
  constexpr double kNarrowest = 3.0 / 4, kWidest = 4.0 / 3;
  const double area = double(size.width) * size.height;
  g.resized = target;
  g.window = g.visible = {0, 0, target};
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double share = area * draws.uniform(step.numbers[0], step.numbers[1]);
    const double aspect = std::exp(draws.uniform(std::log(kNarrowest), std::log(kWidest)));
    const int width = int(std::nearbyint(std::sqrt(share * aspect)));
    const int height = int(std::nearbyint(std::sqrt(share / aspect)));
    if (width < 1 || height < 1 || width > size.width || height > size.height)
      continue;
    const int y = draws.below(size.height - height + 1), x = draws.below(size.width - width + 1);
    g.box = {double(x), double(y), double(width), double(height)};
    return;
  }
  // The picture is too narrow or too wide: take the largest part of a permitted shape in the middle.
  const double aspect = double(size.width) / size.height;
  int width = size.width, height = size.height;
  if (aspect < kNarrowest)
    height = int(std::nearbyint(width / kNarrowest));
  else if (aspect > kWidest)
    width = int(std::nearbyint(height * kWidest));
  g.box = {double((size.width - width) / 2), double((size.height - height) / 2), double(width), double(height)};
}

/// Takes a region of the picture, which may reach beyond its edges into black pixels, and resizes it. What is visible
/// of it begins and ends at whole pixels of the result.
static void take(Geometry &g, const Box &region, PictureSize size, PictureSize target) {
  const double left = std::max(region.x, 0.0), right = std::min(region.x + region.width, double(size.width));
  const double top = std::max(region.y, 0.0), bottom = std::min(region.y + region.height, double(size.height));
  g.box = {left, top, right - left, bottom - top};
  const double scaleX = target.width / region.width, scaleY = target.height / region.height;
  const int x = std::min(int(std::nearbyint((left - region.x) * scaleX)), target.width - 1);
  const int y = std::min(int(std::nearbyint((top - region.y) * scaleY)), target.height - 1);
  g.resized = {std::max(int(std::nearbyint((right - region.x) * scaleX)) - x, 1),
               std::max(int(std::nearbyint((bottom - region.y) * scaleY)) - y, 1)};
  g.visible = {0, 0, g.resized};
  g.window = {-x, -y, target};
}

std::vector<LabelledBox> moved(std::span<const LabelledBox> boxes, const Geometry &g) {
  const double scaleX = g.resized.width / g.box.width, scaleY = g.resized.height / g.box.height;
  const double left = std::max(g.visible.x, g.window.x) - g.window.x,
               top = std::max(g.visible.y, g.window.y) - g.window.y;
  const double right = std::min(g.visible.x + g.visible.size.width - g.window.x, g.window.size.width);
  const double bottom = std::min(g.visible.y + g.visible.size.height - g.window.y, g.window.size.height);
  std::vector<LabelledBox> result;
  for (LabelledBox box : boxes) {
    box.x1 = (box.x1 - g.box.x) * scaleX - g.window.x, box.x2 = (box.x2 - g.box.x) * scaleX - g.window.x;
    box.y1 = (box.y1 - g.box.y) * scaleY - g.window.y, box.y2 = (box.y2 - g.box.y) * scaleY - g.window.y;
    const double x = (box.x1 + box.x2) / 2, y = (box.y1 + box.y2) / 2;
    if (!(x > left && x < right && y > top && y < bottom))
      continue;
    box.x1 = std::max(box.x1, left), box.x2 = std::min(box.x2, right);
    box.y1 = std::max(box.y1, top), box.y2 = std::min(box.y2, bottom);
    if (g.flip)
      std::tie(box.x1, box.x2) = std::pair(g.window.size.width - box.x2, g.window.size.width - box.x1);
    if (g.verticalFlip)
      std::tie(box.y1, box.y2) = std::pair(g.window.size.height - box.y2, g.window.size.height - box.y1);
    result.push_back(box);
  }
  return result;
}

Geometry geometryOf(const PictureSteps &transform, const PictureSteps &augment, PictureSize size, PictureSize target,
                    std::span<const LabelledBox> boxes, const mpc_draw &draw, int64_t sample,
                    rt::FunctionRef<std::string()> where) {
  Geometry g;
  Box region = {0, 0, double(size.width), double(size.height)};
  g.box = {0, 0, double(size.width), double(size.height)};
  g.resized = size;
  g.window = g.visible = {0, 0, size};
  for (const PictureStep &step : transform.steps) {
    if (step.kind == PictureStep::Resize)
      resize(g, step, target, where);
    else if (step.kind == PictureStep::CenterCrop)
      crop(g, centered(g.resized.width, target.width), centered(g.resized.height, target.height), target);
  }
  for (size_t i = 0; draw.random && i < augment.steps.size(); ++i) {
    const PictureStep &step = augment.steps[i];
    Draws draws(draw, sample, i);
    switch (step.kind) {
    case PictureStep::RandomResizedCrop:
      randomResizedCrop(g, step, size, target, draws);
      break;
    case PictureStep::ZoomOut:
    case PictureStep::IouCrop:
      step.kind == PictureStep::ZoomOut ? zoomOut(region, step, draws) : iouCrop(region, step, boxes, draws);
      take(g, region, size, target);
      break;
    case PictureStep::RandomCrop: {
      const int padding = int(step.numbers[0]);
      const int freeX = g.window.size.width + 2 * padding - target.width,
                freeY = g.window.size.height + 2 * padding - target.height;
      if (freeX < 0 || freeY < 0)
        break; // the sizes are compared below
      const int y = g.window.y + draws.below(freeY + 1) - padding, x = g.window.x + draws.below(freeX + 1) - padding;
      crop(g, x, y, target);
      break;
    }
    case PictureStep::Flip:
      g.flip ^= draws.uniform() < step.numbers[0];
      break;
    case PictureStep::VerticalFlip:
      g.verticalFlip ^= draws.uniform() < step.numbers[0];
      break;
    default:
      break; // a step that changes colours
    }
  }
  if (!(g.window.size == target))
    fail(where(),
         concat("the picture has ", g.window.size.width, "x", g.window.size.height, " pixels (width x height)",
                g.resized == size ? "" : " after resize", ", and the input takes ", target.width, "x", target.height),
         concat("add --transform=resize:", std::min(target.width, target.height) * 8 / 7,
                ",center-crop, or resize alone"));
  return g;
}

} // namespace mpc::images
