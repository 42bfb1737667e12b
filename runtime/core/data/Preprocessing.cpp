// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/data/Preprocessing.h"

#include "runtime/support/Error.h"
#include "runtime/support/Split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace mpc::rt {

static std::optional<double> numberOf(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

double parseNumber(std::string_view text, const std::string &option) {
  std::optional<double> value = numberOf(text);
  if (!value)
    fail(option, concat("'", text, "' is no number"), "write a finite number, such as 0.5 or 1e-3");
  return *value;
}

bool InputSteps::identity() const {
  std::vector<Affine> all = maps();
  return std::all_of(all.begin(), all.end(), [](const Affine &map) { return map.identity(); });
}

std::vector<Affine> InputSteps::maps() const {
  double factor = scale.value_or(1);
  if (!normalize)
    return {Affine{factor, 0}};
  std::vector<Affine> maps;
  for (size_t c = 0; c < normalize->mean.size(); ++c)
    maps.push_back({factor / normalize->deviation[c], -normalize->mean[c] / normalize->deviation[c]});
  return maps;
}

static std::string joined(const std::vector<double> &values) {
  std::string text;
  for (double value : values)
    text += concat(text.empty() ? "" : ":", value);
  return text;
}

std::string InputSteps::text() const {
  std::string text = transform.empty() ? "" : concat("transform ", transform);
  if (scale)
    text += concat(text.empty() ? "" : ", ", "scale ", *scale);
  if (normalize)
    text += concat(text.empty() ? "" : ", ", "normalize ", joined(normalize->mean), "/", joined(normalize->deviation));
  return text;
}

Preprocessing Preprocessing::effective() const {
  Preprocessing result;
  for (auto [name, steps] : inputs) {
    if (steps.scale == 1.0)
      steps.scale.reset();
    if (steps.normalize && InputSteps{{}, {}, steps.normalize}.identity())
      steps.normalize.reset();
    if (steps.scale || steps.normalize || !steps.transform.empty())
      result.inputs[name] = steps;
  }
  return result;
}

std::string Preprocessing::text() const {
  std::string text;
  for (const auto &[name, steps] : inputs)
    text += concat(text.empty() ? "" : "; ", name, ": ", steps.text());
  return text.empty() ? "none" : text;
}

//===-- The text in files -----------------------------------------------------------------===//

std::string Preprocessing::metadata() const {
  std::string text;
  auto add = [&](const std::string &name, const char *step, const std::vector<double> &numbers) {
    text += concat(text.empty() ? "" : "\n", name, "\t", step);
    for (double number : numbers) {
      char digits[40];
      std::snprintf(digits, sizeof digits, "\t%.17g", number);
      text += digits;
    }
  };
  for (const auto &[name, steps] : effective().inputs) {
    if (!steps.transform.empty())
      text += concat(text.empty() ? "" : "\n", name, "\ttransform\t", steps.transform);
    if (steps.scale)
      add(name, "scale", {*steps.scale});
    if (steps.normalize) {
      std::vector<double> numbers = steps.normalize->mean;
      numbers.insert(numbers.end(), steps.normalize->deviation.begin(), steps.normalize->deviation.end());
      add(name, "normalize", numbers);
    }
  }
  return text.empty() ? "none" : text;
}

std::optional<Preprocessing> Preprocessing::parse(const std::string &text, const std::string &where) {
  if (text.empty())
    return std::nullopt;
  Preprocessing result;
  if (text == "none")
    return result;
  for (std::string_view line : split(text, '\n')) {
    auto parts = split(line, '\t');
    auto refuse = [&] {
      fail(where,
           concat("its preprocessing has '", parts.size() > 1 ? parts[1] : line, "', which is not understood here"),
           "use a program that a newer mpc compiled");
    };
    if (parts.size() == 3 && parts[1] == "transform") { // stands first
      InputSteps &steps = result.inputs[std::string(parts[0])];
      if (!(steps == InputSteps()))
        refuse();
      steps.transform = parts[2];
      continue;
    }
    std::vector<double> numbers;
    for (size_t i = 2; i < parts.size(); ++i) {
      std::optional<double> number = numberOf(parts[i]);
      if (!number)
        refuse();
      numbers.push_back(*number);
    }
    if (parts.size() < 3)
      refuse();
    InputSteps &steps = result.inputs[std::string(parts[0])];
    size_t half = numbers.size() / 2;
    // The steps have one order, so a scale behind a normalization is another preprocessing.
    if (parts[1] == "scale" && numbers.size() == 1 && !steps.scale && !steps.normalize)
      steps.scale = numbers[0];
    else if (parts[1] == "normalize" && half > 0 && numbers.size() == 2 * half && !steps.normalize &&
             std::count(numbers.begin() + long(half), numbers.end(), 0.0) == 0)
      steps.normalize = {{numbers.begin(), numbers.begin() + long(half)},
                         {numbers.begin() + long(half), numbers.end()}};
    else
      refuse();
  }
  return result;
}

//===-- The options -----------------------------------------------------------------------===//

static InputSteps::Normalize parseNormalize(std::string_view value, const std::string &text) {
  auto parts = split(value, ',');
  if (parts.size() != 2)
    fail("--normalize", concat("'", value, "' is not MEAN,STD"), "write for example x=0.5,0.25");
  auto means = split(parts[0], ':'), stds = split(parts[1], ':');
  size_t channels = std::max(means.size(), stds.size());
  if ((means.size() != 1 && means.size() != channels) || (stds.size() != 1 && stds.size() != channels))
    fail("--normalize", concat("'", value, "' has ", means.size(), " means for ", stds.size(), " deviations"),
         "give one of each, or one for each channel");
  InputSteps::Normalize result;
  for (size_t c = 0; c < channels; ++c) {
    result.mean.push_back(parseNumber(means[means.size() == 1 ? 0 : c], "--normalize"));
    result.deviation.push_back(parseNumber(stds[stds.size() == 1 ? 0 : c], "--normalize"));
    if (result.deviation.back() == 0)
      fail("--normalize", concat("'", text, "' divides by zero"), "give a standard deviation other than 0");
  }
  return result;
}

/// Calls set(input, value) for "INPUT=VALUE", and for every input where the text is "none".
template <typename Set>
static void readOption(const char *option, const std::string &text, const std::vector<std::string> &inputs, Set &&set) {
  if (text == "none") {
    for (const std::string &input : inputs)
      set(input, std::string_view(text));
    return;
  }
  size_t equals = text.rfind('=');
  if (equals == text.npos)
    fail(option, concat("'", text, "' has no '='"), "write INPUT=…, or none to leave it out for every input");
  std::string input = text.substr(0, equals);
  if (std::find(inputs.begin(), inputs.end(), input) == inputs.end())
    fail(option, concat("there is no input '", input, "'"), "the program's info lists its inputs");
  set(input, std::string_view(text).substr(equals + 1));
}

void readSteps(const char *option, const std::string &text, const std::vector<std::string> &pictures,
               FunctionRef<void(const std::string &, std::string_view)> set) {
  if (text == "none" || text.find('=') != text.npos)
    return readOption(option, text, pictures, set);
  if (pictures.empty())
    fail(option, "no input takes pictures",
         option == std::string_view(kTransform)
             ? "leave it out, or give --data a folder, a .tar or a .csv list of pictures"
             : "leave it out, or give --data pictures, or an array of bytes (uint8) [samples,channels,height,width]");
  if (pictures.size() > 1)
    fail(option, "more than one input takes pictures", concat("write ", option, "=", pictures.front(), "=", text));
  set(pictures.front(), text);
}

// A step that is left out stays in the result as one that changes nothing, so that it is known that somebody said it.
Preprocessing withOptions(Preprocessing base, const StepOptions &options, const std::vector<std::string> &inputs,
                          const std::vector<std::string> &pictures) {
  for (const std::string &text : options.transform)
    readSteps(kTransform, text, pictures, [&](const std::string &input, std::string_view value) {
      base.inputs[input].transform = value == "none" ? "" : value;
    });
  for (const std::string &text : options.scale)
    readOption("--scale", text, inputs, [&](const std::string &input, std::string_view value) {
      base.inputs[input].scale = value == "none" ? 1 : parseNumber(value, "--scale");
      if (float(*base.inputs[input].scale) == 0)
        fail("--scale", concat("'", text, "' makes every value 0"), "give a factor other than 0");
    });
  for (const std::string &text : options.normalize)
    readOption("--normalize", text, inputs, [&](const std::string &input, std::string_view value) {
      base.inputs[input].normalize = value == "none" ? InputSteps::Normalize{{0}, {1}} : parseNormalize(value, text);
    });
  return base;
}

std::string describeUse(const Preprocessing &stored, const Preprocessing &used, bool said) {
  if (!(used == stored))
    return concat("preprocessing: ", used.text(), "; the checkpoint was trained with: ", stored.text());
  if (said || stored.inputs.empty())
    return "";
  bool transforms = std::any_of(stored.inputs.begin(), stored.inputs.end(),
                                [](const auto &input) { return !input.second.transform.empty(); });
  return concat("preprocessing of the checkpoint: ", stored.text(), " (", transforms ? "--transform, " : "",
                "--scale and --normalize change it, ", transforms ? "--transform=none, " : "",
                "--scale=none and --normalize=none turn it off)");
}

} // namespace mpc::rt
