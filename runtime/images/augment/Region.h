// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps of --augment that choose a region of the picture by its boxes, or one around it.
#pragma once

#include "runtime/images/Boxes.h"
#include "runtime/images/augment/Draws.h"
#include "runtime/images/augment/Resize.h"
#include "runtime/images/augment/Steps.h"

#include <span>

namespace mpc::images {

/// Makes the region larger by a random factor and puts the old one at a random place in it (Liu et al., "SSD: Single
/// Shot MultiBox Detector", ECCV 2016, section 3.6), as torchvision's RandomZoomOut does. All corners stay whole.
void zoomOut(Box &region, const PictureStep &step, Draws draws);

/// Replaces the region by a random part of it that has the centre of a box, and a box with a random least Jaccard index
/// with the part, or leaves it (Liu et al., section 2.2), as torchvision's RandomIoUCrop does. `boxes` are in pixels of
/// the picture. All corners stay whole.
void iouCrop(Box &region, const PictureStep &step, std::span<const LabelledBox> boxes, Draws draws);

} // namespace mpc::images
