// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/Boxes.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>

namespace mpc::images {

using rt::concat;
using rt::fail;

/// No picture has a longer side, so no box of one has a corner so far out.
static constexpr double kFarthest = 1e6;

static std::string textOf(PictureSize size) { return concat(size.width, "x", size.height); }

static std::string textOf(const LabelledBox &box) {
  return concat("from (", box.x1, ", ", box.y1, ") to (", box.x2, ", ", box.y2, ")");
}

static LabelledBox clipped(LabelledBox box, PictureSize size) {
  box.x1 = std::clamp<double>(box.x1, 0, size.width), box.x2 = std::clamp<double>(box.x2, 0, size.width);
  box.y1 = std::clamp<double>(box.y1, 0, size.height), box.y2 = std::clamp<double>(box.y2, 0, size.height);
  return box;
}

static void checkInside(const LabelledBox &box, PictureSize size, const std::string &where) {
  const LabelledBox inside = clipped(box, size);
  if (inside.area() == 0)
    fail(where, concat("has a box ", textOf(box), ", which lies outside the picture of ", textOf(size), " pixels"),
         "correct the box or remove it; corners are in pixels of the picture as viewers show it");
}

bool BoxTable::add(const LabelledBox &box, const std::string &where) {
  for (double corner : {box.x1, box.y1, box.x2, box.y2})
    if (!(std::fabs(corner) <= kFarthest)) // also NaN
      fail(where, concat("has a box with the coordinate ", corner, ", where no picture reaches"), "correct the box");
  if (box.x2 < box.x1 || box.y2 < box.y1)
    fail(where, concat("has a box of negative size, ", textOf(box)), "write the smaller coordinate first");
  if (box.area() == 0) {
    ++leftOut_;
    return false;
  }
  boxes_.push_back(box);
  return true;
}

void BoxTable::endSample(PictureSize stated, const std::string &where) {
  if (stated.width < 0 || stated.height < 0)
    fail(where, concat("states a size of ", textOf(stated), " pixels"), "state the width and height of the picture");
  if (stated.width > 0 && stated.height > 0)
    for (size_t i = ends_.back(); i < boxes_.size(); ++i)
      checkInside(boxes_[i], stated, where);
  else
    stated = {};
  ends_.push_back(boxes_.size());
  stated_.push_back(stated);
}

std::vector<LabelledBox> BoxTable::inPixels(int64_t sample, PictureSize size) const {
  const PictureSize stated = stated_[size_t(sample)];
  if (stated.width > 0 && !(stated == size))
    fail("", concat("has ", textOf(size), " pixels, and its boxes are for ", textOf(stated)),
         "write the boxes for the picture as viewers show it, turned as its EXIF data say");
  std::vector<LabelledBox> result;
  for (LabelledBox box : of(sample)) {
    if (relative_) {
      box.x1 *= size.width, box.x2 *= size.width;
      box.y1 *= size.height, box.y2 *= size.height;
    }
    checkInside(box, size, "");
    result.push_back(clipped(box, size));
  }
  return result;
}

void addCount(std::string &text, int64_t count, const char *one, const char *several) {
  if (count > 0)
    text += concat(text.empty() ? "" : "; ", count, count == 1 ? one : several);
}

} // namespace mpc::images
