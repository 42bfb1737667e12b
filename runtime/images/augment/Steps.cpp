// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/augment/Steps.h"

#include "runtime/images/Pixels.h"
#include "runtime/support/Error.h"
#include "runtime/support/Split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

namespace mpc::images {

using rt::concat;
using rt::fail;

namespace {
/// One number of a step: its standard value and its range. The standard values are torchvision's.
struct Number {
  double standard, low, high;
};
struct Form {
  const char *name, *usage; // `usage` begins with the name
  bool random;
  size_t least, most; // as many numbers may be given
  Number numbers[4];
};
/// The runtime takes these steps of --augment itself: they are about a batch.
constexpr char kMixing[] = ", mixup[:ALPHA], cutmix[:ALPHA]";
constexpr Form kForms[] = {
    {"resize", "resize[:SHORTER or :HEIGHTxWIDTH]", false, 0, 2, {{0, 1, kMostExtent}, {0, 1, kMostExtent}}},
    {"center-crop", "center-crop", false, 0, 0, {}},
    {"largest-boxes", "largest-boxes", false, 0, 0, {}},
    {"random-crop", "random-crop[:PADDING]", true, 0, 1, {{0, 0, kMostExtent}}},
    {"random-resized-crop", "random-resized-crop[:LEAST:MOST]", true, 0, 2, {{0.08, 1e-4, 1}, {1, 1e-4, 1}}},
    {"iou-crop", "iou-crop[:LEAST:MOST]", true, 0, 2, {{0.3, 1e-2, 1}, {1, 1e-2, 1}}},
    {"zoom-out", "zoom-out[:MOST[:P]]", true, 0, 2, {{4, 1, 16}, {0.5, 0, 1}}},
    {"flip", "flip[:P]", true, 0, 1, {{0.5, 0, 1}}},
    {"vertical-flip", "vertical-flip[:P]", true, 0, 1, {{0.5, 0, 1}}},
    {"jitter",
     "jitter:BRIGHTNESS[:CONTRAST[:SATURATION[:HUE]]]",
     true,
     1,
     4,
     {{0, 0, 10}, {0, 0, 10}, {0, 0, 10}, {0, 0, 0.5}}},
    {"erase", "erase[:P]", true, 0, 1, {{0.5, 0, 1}}},
};
} // namespace

/// Returns the steps as a user writes them.
static std::string usages(bool random) {
  std::string text;
  for (const Form &form : kForms)
    if (form.random == random)
      text += concat(text.empty() ? "" : ", ", form.usage);
  return text;
}

std::string PictureSteps::text() const {
  std::string text;
  for (const PictureStep &step : steps) {
    text += concat(text.empty() ? "" : ",", kForms[step.kind].name);
    if (step.kind == PictureStep::Resize && step.numbers.size() == 2)
      text += concat(":", step.numbers[0], "x", step.numbers[1]);
    else
      for (double number : step.numbers)
        text += concat(":", number);
  }
  return text;
}

static double numberIn(std::string_view text, const Form &form, size_t index, const std::string &option) {
  const Number &number = form.numbers[index];
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = number.high == kMostExtent;
  if (error != std::errc() || end != text.data() + text.size() || !(value >= number.low && value <= number.high) ||
      (whole && value != std::floor(value)))
    fail(option,
         concat("'", text, "' in '", form.name, "' is no ", whole ? "whole " : "", "number from ", number.low, " to ",
                number.high),
         concat("write ", form.usage));
  return value;
}

static PictureStep parseStep(std::string_view text, const std::string &option) {
  const bool random = option == kAugment;
  std::vector<std::string_view> parts = rt::split(text, ':');
  const Form *form =
      std::find_if(std::begin(kForms), std::end(kForms), [&](const Form &f) { return parts[0] == f.name; });
  if (form == std::end(kForms))
    fail(option, concat("there is no step '", parts[0], "'"),
         concat("the steps are ", usages(random), random ? kMixing : ""));
  if (!form->random && random)
    fail(option, concat("'", form->name, "' is not random, and holds for evaluations too"),
         concat("write --transform=", text));
  if (form->random && !random)
    fail(option, concat("'", form->name, "' is random, and random steps are for training only"),
         concat("write --augment=", text));
  PictureStep step{PictureStep::Kind(form - kForms), {}};
  parts.erase(parts.begin());
  if (step.kind == PictureStep::Resize && parts.size() == 1)
    parts = rt::split(parts[0], 'x');
  if (parts.size() < form->least || parts.size() > form->most)
    fail(option, concat("'", text, "' has ", parts.size(), " numbers"), concat("write ", form->usage));
  for (size_t i = 0; i < parts.size(); ++i)
    step.numbers.push_back(numberIn(parts[i], *form, i, option));
  for (size_t i = parts.size(); i < form->most && step.kind != PictureStep::Resize; ++i)
    step.numbers.push_back(form->numbers[i].standard);
  if ((step.kind == PictureStep::RandomResizedCrop || step.kind == PictureStep::IouCrop) &&
      step.numbers[0] > step.numbers[1])
    fail(option,
         concat("'", text, "' has a least share of the ", step.kind == PictureStep::IouCrop ? "sides" : "area",
                " above the most"),
         "write the smaller number first");
  return step;
}

PictureSteps PictureSteps::parse(std::string_view text, const std::string &option) {
  PictureSteps result;
  if (text.empty())
    return result;
  for (std::string_view item : rt::split(text, ',')) {
    PictureStep step = parseStep(item, option);
    if (step.kind == PictureStep::Resize && result.has(PictureStep::CenterCrop))
      fail(option, "a crop is followed by resize", "write resize first");
    const bool cropped = result.has(PictureStep::RandomCrop) || result.has(PictureStep::RandomResizedCrop) ||
                         result.has(PictureStep::IouCrop);
    const bool whole = step.kind == PictureStep::RandomResizedCrop || step.kind == PictureStep::IouCrop ||
                       step.kind == PictureStep::ZoomOut;
    if (whole && cropped)
      fail(option,
           concat("a crop is followed by ", kForms[step.kind].name, ", which takes its part of the whole picture"),
           step.kind == PictureStep::ZoomOut ? "write zoom-out first" : "leave one of them out");
    if (whole && step.kind != PictureStep::IouCrop && result.has(PictureStep::ZoomOut))
      fail(option, concat("zoom-out is followed by ", kForms[step.kind].name, ", and only iou-crop may follow it"),
           "leave one of them out");
    result.steps.push_back(std::move(step));
  }
  return result;
}

} // namespace mpc::images
