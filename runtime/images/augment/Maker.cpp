// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/augment/Maker.h"

#include "runtime/images/augment/Colour.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace mpc::images {

Maker::Maker(std::unique_ptr<Pictures> pictures, const mpc_picture_input &input)
    : pictures_(std::move(pictures)), channels_(input.channels), size_{input.width, input.height},
      transform_(PictureSteps::parse(input.transform, kTransform)),
      augment_(PictureSteps::parse(input.augment, kAugment)), erased_(input.erased, input.erased + input.channels) {
  for (const PictureStep &step : augment_.steps)
    if (step.kind == PictureStep::Jitter && channels_ != 1 && channels_ != 3)
      rt::fail(kAugment, rt::concat("jitter changes colours, and the input takes ", channels_, " channels"),
               "leave jitter out");
  if (!pictures_->boxes() && (augment_.has(PictureStep::IouCrop) || transform_.has(PictureStep::LargestBoxes)))
    rt::fail(augment_.has(PictureStep::IouCrop) ? kAugment : kTransform,
             rt::concat(augment_.has(PictureStep::IouCrop) ? "iou-crop" : "largest-boxes",
                        " looks at the boxes of pictures, and these have none"),
             "leave it out, or give pictures with boxes: an instances.json of COCO, or a folder of YOLO or Pascal VOC");
}

constexpr char kTooManyBoxes[] = "export a network that takes more boxes, or add largest-boxes to --transform, which "
                                 "keeps the largest ones";

static std::string tooManyBoxes(int64_t count, int64_t room) {
  return rt::concat("has ", count, " boxes, and the network takes ", room);
}

std::string checkRoom(const Source &source, const PictureSteps &transform, int64_t room) {
  int64_t pictures = 0;
  for (int64_t sample = 0; sample < source.samples(); ++sample) {
    const auto count = int64_t(source.boxes()->of(sample).size());
    if (count > room && !transform.has(PictureStep::LargestBoxes))
      rt::fail(source.describe(sample), tooManyBoxes(count, room), kTooManyBoxes);
    pictures += count > room;
  }
  if (pictures == 0)
    return "";
  return rt::concat(pictures, pictures == 1 ? " picture has" : " pictures have", " more than ", room,
                    " boxes; the largest ", room, pictures == 1 ? " of it are kept" : " of each are kept");
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

PictureSize Maker::look(int64_t sample) {
  sample_ = sample;
  const PictureSize size = pictures_->look(sample);
  if (const BoxTable *boxes = pictures_->boxes())
    boxes->remember(sample, size);
  return size;
}

Geometry Maker::geometry(PictureSize full, std::span<const LabelledBox> boxes, const mpc_draw &draw) const {
  return geometryOf(transform_, augment_, full, size_, boxes, draw, sample_, [&] { return describe(); });
}

int64_t Maker::makeBoxes(int64_t sample, const mpc_draw &draw, int64_t room, float *corners, int64_t *labels) {
  sample_ = sample;
  const BoxTable &table = *pictures_->boxes();
  PictureSize full = table.remembered(sample);
  if (full.width == 0)
    full = look(sample);
  std::vector<LabelledBox> boxes = table.inPixels(sample, full);
  boxes = moved(boxes, geometry(full, boxes, draw));
  const auto most = size_t(room);
  if (boxes.size() > most && transform_.has(PictureStep::LargestBoxes)) {
    std::vector<size_t> kept(boxes.size());
    std::iota(kept.begin(), kept.end(), size_t(0));
    std::stable_sort(kept.begin(), kept.end(), [&](size_t a, size_t b) { return boxes[a].area() > boxes[b].area(); });
    kept.resize(most);
    std::sort(kept.begin(), kept.end()); // they stay in their order
    for (size_t i = 0; i < most; ++i)
      boxes[i] = boxes[kept[i]];
    boxes.resize(most);
  }
  if (boxes.size() > most)
    rt::fail("", tooManyBoxes(int64_t(boxes.size()), room), kTooManyBoxes);
  for (size_t i = 0; i < most; ++i) {
    const LabelledBox box = i < boxes.size() ? boxes[i] : LabelledBox{0, 0, 0, 0, -1};
    const double of[] = {box.x1, box.y1, box.x2, box.y2};
    if (corners)
      std::copy_n(of, 4, corners + 4 * i);
    if (labels)
      labels[i] = box.label;
  }
  return int64_t(boxes.size());
}

void Maker::make(int64_t sample, const mpc_draw &draw, uint8_t *planes) {
  const PictureSize full = look(sample);
  std::vector<LabelledBox> boxes;
  if (draw.random && augment_.has(PictureStep::IouCrop))
    boxes = pictures_->boxes()->inPixels(sample, full);
  const Geometry g = geometry(full, boxes, draw);
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
    const Coverage &at = view.coverage;
    const double reduction = at.reduction;
    if (whole)
      copyWindow(view, {int(g.box.x) + inside.x, int(g.box.y) + inside.y, inside.size}, to, row, plane);
    else
      resizer_.run(view,
                   {(g.box.x - at.left) / reduction, (g.box.y - at.top) / reduction, g.box.width / reduction,
                    g.box.height / reduction},
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
