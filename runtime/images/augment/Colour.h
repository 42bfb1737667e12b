// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps of --augment that change the values of pixels. They work on planes of bytes: [channels, pixels].
#pragma once

#include "runtime/images/augment/Draws.h"
#include "runtime/images/augment/Picture.h"
#include "runtime/images/augment/Steps.h"

#include <vector>

namespace mpc::images {

/// Changes brightness, contrast, saturation and hue by random amounts in random order, as torchvision's ColorJitter
/// does: a number b of the step means a factor between max(0, 1 - b) and 1 + b, and hue h a turn between -h and h.
/// Grey pictures have no saturation and no hue.
void jitter(const PictureStep &step, uint8_t *planes, int channels, size_t pixels, Draws draws);

/// Each changes all pixels by a known amount. Results are cut to bytes as in torchvision's functions of the same names.
void adjustBrightness(uint8_t *planes, int channels, size_t pixels, double factor);
void adjustContrast(uint8_t *planes, int channels, size_t pixels, double factor);
void adjustSaturation(uint8_t *planes, size_t pixels, double factor); // three channels
void adjustHue(uint8_t *planes, size_t pixels, double turn);          // three channels; `turn` from -0.5 to 0.5

/// Overwrites a random rectangle with one value for each channel (Zhong et al., "Random Erasing Data Augmentation",
/// AAAI 2020), as torchvision's RandomErasing does: 2 to 33 % of the area, with sides in a ratio of 0.3 to 3.3.
void erase(const PictureStep &step, uint8_t *planes, PictureSize size, const std::vector<uint8_t> &values, Draws draws);

} // namespace mpc::images
