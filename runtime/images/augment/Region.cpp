// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/augment/Region.h"

#include <algorithm>
#include <cmath>

namespace mpc::images {

void zoomOut(Box &region, const PictureStep &step, Draws draws) {
  if (draws.uniform() >= step.numbers[1])
    return;
  const double factor = draws.uniform(1, step.numbers[0]);
  const double width = std::floor(region.width * factor), height = std::floor(region.height * factor);
  region.x -= std::floor((width - region.width) * draws.uniform());
  region.y -= std::floor((height - region.height) * draws.uniform());
  region.width = width;
  region.height = height;
}

/// Returns the area that both have, divided by the area that at least one has.
static double jaccard(const LabelledBox &box, const Box &part) {
  const double width = std::min(box.x2, part.x + part.width) - std::max(box.x1, part.x);
  const double height = std::min(box.y2, part.y + part.height) - std::max(box.y1, part.y);
  if (width <= 0 || height <= 0)
    return 0;
  return width * height / (box.area() + part.width * part.height - width * height);
}

/// Returns whether the centre of a box lies in the part, and a box of which this is true has at least this index.
static bool fits(const Box &part, std::span<const LabelledBox> boxes, double least) {
  return std::any_of(boxes.begin(), boxes.end(), [&](const LabelledBox &box) {
    const double x = (box.x1 + box.x2) / 2, y = (box.y1 + box.y2) / 2;
    return x > part.x && x < part.x + part.width && y > part.y && y < part.y + part.height &&
           jaccard(box, part) >= least;
  });
}

void iouCrop(Box &region, const PictureStep &step, std::span<const LabelledBox> boxes, Draws draws) {
  constexpr double kLeast[] = {0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}; // 1: leave the region as it is
  constexpr double kNarrowest = 0.5, kWidest = 2;
  // torchvision draws until something fits, which takes 7 rounds on average where nothing does; 64 bound the time.
  constexpr int kRounds = 64, kTrials = 40;
  if (boxes.empty())
    return; // no part would fit
  for (int round = 0; round < kRounds; ++round) {
    const double least = kLeast[draws.below(7)];
    if (least >= 1)
      return;
    for (int trial = 0; trial < kTrials; ++trial) {
      const double width = std::floor(region.width * draws.uniform(step.numbers[0], step.numbers[1]));
      const double height = std::floor(region.height * draws.uniform(step.numbers[0], step.numbers[1]));
      if (width < 1 || height < 1 || width / height < kNarrowest || width / height > kWidest)
        continue;
      const double x = region.x + std::floor((region.width - width) * draws.uniform());
      const double y = region.y + std::floor((region.height - height) * draws.uniform());
      const Box part = {x, y, width, height};
      if (!fits(part, boxes, least))
        continue;
      region = part;
      return;
    }
  }
}

} // namespace mpc::images
