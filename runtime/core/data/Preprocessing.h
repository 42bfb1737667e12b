// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preprocessing changes the values of an input before the network takes them. A checkpoint stores that of its training,
// so that evaluation and prediction do the same.
#pragma once

#include "runtime/support/DType.h"
#include "runtime/support/FunctionRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc::rt {

/// The steps for one input, in their order. A step that is absent leaves the values as they are.
struct InputSteps {
  /// (value - mean) / deviation: one of each, or one for each channel.
  struct Normalize {
    std::vector<double> mean, deviation;
    bool operator==(const Normalize &) const = default;
  };
  /// These steps make of a picture in a file one of the input's size, such as "resize:256,center-crop"; only the plugin
  /// for pictures understands them (mpc/data.h).
  std::string transform = {};
  std::optional<double> scale = {}; // value * scale
  std::optional<Normalize> normalize = {};

  bool operator==(const InputSteps &) const = default;
  /// Returns whether the steps change no value (the transform aside).
  bool identity() const;
  /// Returns one map for all values, or one for each channel.
  std::vector<Affine> maps() const;
  /// Returns "transform resize:256,center-crop, scale 0.5, normalize 0.1307/0.3081".
  std::string text() const;
};

struct Preprocessing {
  std::map<std::string, InputSteps> inputs;

  bool operator==(const Preprocessing &) const = default;
  /// Leaves out the inputs whose steps change nothing.
  Preprocessing effective() const;
  /// Returns "x: scale 0.5; y: normalize 1/2", or "none".
  std::string text() const;

  /// Returns what checkpoints hold under "preprocessing", and exported ONNX models under kPreprocessingKey: "none", or
  /// a line for each step: the input's name, the step and its numbers (of a transform its text), separated by tabs. The
  /// numbers are exact.
  std::string metadata() const;
  /// Returns nothing for "", which older checkpoints have. Throws Error, located at `where`, for a text that it does
  /// not understand, such as a step that a newer version has added: to leave a step out would give other numbers.
  static std::optional<Preprocessing> parse(const std::string &text, const std::string &where);
};

/// Holds what the options --transform, --scale and --normalize say (see DataOptions).
struct StepOptions {
  const std::vector<std::string> &transform, &scale, &normalize;
  bool empty() const { return transform.empty() && scale.empty() && normalize.empty(); }
};

/// Puts the options over `base`: a step that an option names replaces that step of `base`, and "none" leaves it out.
/// `inputs` are the names that the options may use, `pictures` those of them that take pictures from files. Throws
/// Error.
Preprocessing withOptions(Preprocessing base, const StepOptions &options, const std::vector<std::string> &inputs,
                          const std::vector<std::string> &pictures);

inline constexpr char kTransform[] = "--transform", kAugment[] = "--augment";

/// Returns the finite number that a text is. Throws Error located at the option.
double parseNumber(std::string_view text, const std::string &option);

/// Calls set(input, value) for "INPUT=STEPS", or for "STEPS" where there is only one input for pictures. `option`:
/// kTransform or kAugment. Throws Error.
void readSteps(const char *option, const std::string &text, const std::vector<std::string> &pictures,
               FunctionRef<void(const std::string &input, std::string_view value)> set);

/// Returns the line that tells a user which steps are used of a checkpoint; "" where there is nothing to tell.
/// `stored` is what the checkpoint says, `used` what happens, and `said` whether an option spoke of it.
std::string describeUse(const Preprocessing &stored, const Preprocessing &used, bool said);

} // namespace mpc::rt
