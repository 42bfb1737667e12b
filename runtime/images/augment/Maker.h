// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes of pictures what an input takes.
#pragma once

#include "mpc/data.h"
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
  std::string describe() const { return pictures_->describe(); }

private:
  std::unique_ptr<Pictures> pictures_;
  int channels_;
  PictureSize size_;
  PictureSteps transform_, augment_;
  std::vector<uint8_t> erased_;
  Resizer resizer_;
};

} // namespace mpc::images
