// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What --transform and --augment say: the steps that make of a picture of any size what a network takes.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace mpc::images {

inline constexpr char kTransform[] = "--transform", kAugment[] = "--augment";

struct PictureStep {
  enum Kind {
    Resize,
    CenterCrop,
    LargestBoxes,
    RandomCrop,
    RandomResizedCrop,
    IouCrop,
    ZoomOut,
    Flip,
    VerticalFlip,
    Jitter,
    Erase
  } kind;
  /// What is not said has its standard value, except for Resize, which has no number (the network's size), one (the
  /// shorter side) or two (height and width).
  std::vector<double> numbers;

  bool operator==(const PictureStep &) const = default;
};

struct PictureSteps {
  std::vector<PictureStep> steps;

  bool operator==(const PictureSteps &) const = default;
  bool empty() const { return steps.empty(); }
  bool has(PictureStep::Kind kind) const {
    return std::any_of(steps.begin(), steps.end(), [&](const PictureStep &step) { return step.kind == kind; });
  }
  /// Returns "resize:256,center-crop".
  std::string text() const;
  /// Parses such a text; "" has no steps. `option`: kTransform, which has no random steps, or kAugment. Throws Error
  /// located at it.
  static PictureSteps parse(std::string_view text, const std::string &option);
};

} // namespace mpc::images
