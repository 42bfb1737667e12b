// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the pixels of a sample come from: all steps that resize, crop and flip, put together.
#pragma once

#include "runtime/images/Boxes.h"
#include "runtime/images/augment/Draws.h"
#include "runtime/images/augment/Resize.h"
#include "runtime/images/augment/Steps.h"
#include "runtime/support/FunctionRef.h"

#include <string>

namespace mpc::images {

/// The box of the picture is resized, and a window of that is flipped. Of the resized picture only a part is visible;
/// the window may reach beyond that into black pixels.
struct Geometry {
  Box box;
  PictureSize resized;
  Window window, visible;
  bool flip = false, verticalFlip = false;
};

/// Moves the boxes of a picture as its pixels move. Those whose centres do not lie in the visible part are left out,
/// which is the rule of SSD (Liu et al., 2016, section 2.2), and the others are clipped to that part. So at least half
/// of the width and half of the height of each is left.
std::vector<LabelledBox> moved(std::span<const LabelledBox> boxes, const Geometry &geometry);

/// Returns how a picture of `size` becomes one of `target` size: by the steps of `transform`, then, where the draw is
/// random, by those of `augment`. A random-resized-crop, an iou-crop or a zoom-out takes the place of what is before
/// it, and an iou-crop looks at the picture's boxes. `where` names the picture in the Error that is thrown where the
/// steps end at another size.
Geometry geometryOf(const PictureSteps &transform, const PictureSteps &augment, PictureSize size, PictureSize target,
                    std::span<const LabelledBox> boxes, const mpc_draw &draw, int64_t sample,
                    rt::FunctionRef<std::string()> where);

} // namespace mpc::images
