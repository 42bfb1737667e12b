// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the pixels of a sample come from: all steps that resize, crop and flip, put together.
#pragma once

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

/// Returns how a picture of `size` becomes one of `target` size: by the steps of `transform`, then, where the draw is
/// random, by those of `augment`. A random-resized-crop takes the place of what is before it. `where` names the picture
/// in the Error that is thrown where the steps end at another size.
Geometry geometryOf(const PictureSteps &transform, const PictureSteps &augment, PictureSize size, PictureSize target,
                    const mpc_draw &draw, int64_t sample, rt::FunctionRef<std::string()> where);

} // namespace mpc::images
