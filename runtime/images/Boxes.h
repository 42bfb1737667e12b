// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The boxes of pictures, as annotations state them.
#pragma once

#include "runtime/images/augment/Picture.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mpc::images {

/// Two corners and a class. (0, 0) is the left upper corner of the left upper pixel, and y grows downwards.
struct LabelledBox {
  double x1, y1, x2, y2;
  int32_t label;

  double width() const { return x2 - x1; }
  double height() const { return y2 - y1; }
  double area() const { return width() * height(); }
};

/// Which boxes each sample of a source has. It does not change once it is complete, so threads may share it.
class BoxTable {
public:
  /// `relative`: the corners are shares of the picture's width and height; otherwise they are pixels.
  explicit BoxTable(bool relative) : relative_(relative) {}

  std::span<const LabelledBox> of(int64_t sample) const {
    return {boxes_.data() + ends_[size_t(sample)], boxes_.data() + ends_[size_t(sample) + 1]};
  }
  /// Returns a sample's boxes in pixels of its picture, clipped to it. Throws Error without a place for a picture of
  /// another size than the annotations state, and for a box that lies outside.
  std::vector<LabelledBox> inPixels(int64_t sample, PictureSize size) const;

  /// Remembers the size of a sample's picture. Any thread may call it.
  void remember(int64_t sample, PictureSize size) const {
    sizes_[size_t(sample)].store(uint32_t(size.width) << 16 | uint32_t(size.height), std::memory_order_relaxed);
  }
  /// Returns the remembered size, or {0, 0}.
  PictureSize remembered(int64_t sample) const {
    const uint32_t size = sizes_[size_t(sample)].load(std::memory_order_relaxed);
    return {int(size >> 16), int(size & 0xffff)};
  }

  // These build the table.
  /// Adds a box to the next sample. Returns false for one without an area, which is left out. Throws Error located at
  /// `where` for corners that are not finite or in the wrong order, or that lie further out than any picture is large.
  bool add(const LabelledBox &box, const std::string &where);
  /// Completes the next sample. `stated`: the picture's size by its annotations; {0, 0}: they do not say it. Throws
  /// Error located at `where` for a box that lies outside of this.
  void endSample(PictureSize stated, const std::string &where);
  /// Replaces each label by its entry in `labels`.
  void renumber(const std::vector<int32_t> &labels) {
    for (LabelledBox &box : boxes_)
      box.label = labels[size_t(box.label)];
  }
  void complete() { sizes_ = std::make_unique<std::atomic<uint32_t>[]>(stated_.size()); }
  int64_t leftOut() const { return leftOut_; }

private:
  bool relative_;
  int64_t leftOut_ = 0;
  std::vector<LabelledBox> boxes_;
  std::vector<size_t> ends_ = {0};
  std::vector<PictureSize> stated_;
  std::unique_ptr<std::atomic<uint32_t>[]> sizes_; // 16 bits of width and height
};

/// Returns "3 boxes without an area are left out" and the like for counts above 0, joined to `text` by "; ".
void addCount(std::string &text, int64_t count, const char *one, const char *several);

} // namespace mpc::images
