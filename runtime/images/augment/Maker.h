// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes of pictures what an input takes.
#pragma once

#include "mpc/data.h"
#include "runtime/images/Source.h"
#include "runtime/images/augment/Geometry.h"
#include "runtime/images/augment/Picture.h"

#include <memory>
#include <vector>

namespace mpc::images {

/// Works for one thread.
class Maker {
public:
  /// Throws Error for steps that cannot be parsed.
  Maker(std::unique_ptr<Pictures> pictures, const mpc_picture_input &input);
  /// Writes the sample's bytes [channels, height, width]. Throws Error, perhaps without a place: it is the sample's.
  void make(int64_t sample, const mpc_draw &draw, uint8_t *planes);
  /// Writes the sample's boxes, moved as make() moves its pixels: corners [room, 4] and labels [room]; either may be
  /// null. Returns their number. Throws Error, also where there is not room enough, unless the transform keeps the
  /// largest boxes.
  int64_t makeBoxes(int64_t sample, const mpc_draw &draw, int64_t room, float *corners, int64_t *labels);
  /// Returns where the last sample comes from.
  std::string describe() const { return sample_ < 0 ? "" : pictures_->describe(sample_); }
  int channels() const { return channels_; }
  PictureSize size() const { return size_; }
  /// Returns the files that the pictures come from, or null where they come from an array.
  const Source *source() const { return pictures_->source(); }

private:
  PictureSize look(int64_t sample);
  Geometry geometry(PictureSize full, std::span<const LabelledBox> boxes, const mpc_draw &draw) const;

  std::unique_ptr<Pictures> pictures_;
  int64_t sample_ = -1;
  int channels_;
  PictureSize size_;
  PictureSteps transform_, augment_;
  std::vector<uint8_t> erased_;
  Resizer resizer_;
};

/// Returns what a user should know where pictures of the source have more than `room` boxes of which the transform
/// keeps the largest, or "". Throws Error located at the first such picture where it does not.
std::string checkRoom(const Source &source, const PictureSteps &transform, int64_t room);

} // namespace mpc::images
