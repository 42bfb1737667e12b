// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/Specs.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::training;

FailureOr<StepSpec> training::parseStepSpec(Location loc, StringRef text, const StepSpec &base) {
  StepSpec spec = base;
  SmallVector<StringRef> segments;
  text.split(segments, ':');
  spec.name = segments.front().str();
  auto fail = [&](const Twine &message) {
    return emitErrorWithHint(
        loc, "step '" + text + "': " + message,
        "write NAME:loss=FORM:A:B:params=REGEX:optimizer=NAME,lr=0.1:scaler=dynamic:every=K (all but "
        "the name optional)");
  };
  if (spec.name.empty() || StringRef(spec.name).contains('='))
    return fail("no name in front");
  std::string *value = nullptr, every = "1";
  for (StringRef segment : ArrayRef(segments).drop_front()) {
    auto [key, rest] = segment.split('=');
    std::string *field = key == "loss"        ? &spec.loss
                         : key == "params"    ? &spec.parameters
                         : key == "optimizer" ? &spec.optimizer
                         : key == "scaler"    ? &spec.scaler
                         : key == "every"     ? &every
                                              : nullptr;
    if (field && segment.contains('=')) {
      value = field;
      *value = rest.str();
    } else if (value) {
      *value += (":" + segment).str();
    } else {
      return fail("'" + segment + "' is not loss=, params=, optimizer=, scaler= or every=");
    }
  }
  constexpr int64_t kMost = int64_t(1) << 31; // as the runtime has it
  if (StringRef(every).getAsInteger(10, spec.every) || spec.every < 1 || spec.every > kMost)
    return fail("every=" + every + " is no whole number from 1 to 2^31");
  return spec;
}

FailureOr<SmallVector<std::pair<StringRef, StringRef>>> training::parsePairs(Location loc, StringRef text) {
  SmallVector<std::pair<StringRef, StringRef>> pairs;
  for (StringRef pair : llvm::split(text, ',')) {
    if (pair.empty())
      continue;
    auto [key, value] = pair.split('=');
    key = key.trim();
    value = value.trim();
    if (key.empty() || value.empty())
      return emitErrorWithHint(loc, "'" + pair + "' is not key=value", "separate key=value pairs by commas");
    if (llvm::is_contained(llvm::make_first_range(pairs), key))
      return emitErrorWithHint(loc, "'" + key + "' is given twice", "keep one of them");
    pairs.emplace_back(key, value);
  }
  return pairs;
}

static std::optional<double> parseNumber(StringRef text) {
  double number;
  return text.getAsDouble(number) ? std::nullopt : std::optional(number);
}

train::OptimizerAttr training::parseOptimizer(Location loc, StringRef text) {
  auto [name, rest] = text.split(',');
  auto pairs = parsePairs(loc, rest);
  if (failed(pairs))
    return {};
  SmallVector<train::NamedNumber> numbers;
  for (auto [key, value] : *pairs) {
    auto [first, second] = value.split('/');
    if (key == "betas" && !second.empty()) { // torch writes both decays as one entry
      numbers.emplace_back("beta1", parseNumber(first));
      numbers.emplace_back("beta2", parseNumber(second));
    } else {
      numbers.emplace_back(key, value == "true" ? 1 : value == "false" ? 0 : parseNumber(value));
    }
  }
  return train::OptimizerAttr::fromNumbers([&] { return emitError(loc); }, loc.getContext(), name.trim(), numbers);
}

train::ScalerAttr training::parseScaler(Location loc, StringRef text) {
  auto [kind, rest] = text.split(',');
  auto pairs = parsePairs(loc, rest);
  if (failed(pairs))
    return {};
  SmallVector<train::NamedNumber> numbers;
  for (auto [key, value] : *pairs)
    numbers.emplace_back(key, parseNumber(value));
  return train::ScalerAttr::fromNumbers([&] { return emitError(loc); }, loc.getContext(), kind.trim(), numbers);
}

train::GroupAttr training::parseGroup(Location loc, StringRef text) {
  auto [match, rest] = text.rsplit(':');
  if (match.empty() || rest.empty())
    return (void)emitErrorWithHint(loc, "'" + text + "' is not a parameter group",
                                   "write REGEX:lr=FACTOR,weight_decay=VALUE or @norms,@biases:wd=0"),
           train::GroupAttr();
  auto pairs = parsePairs(loc, rest);
  if (failed(pairs))
    return {};
  SmallVector<train::NamedNumber> numbers;
  for (auto [key, value] : *pairs)
    numbers.emplace_back(key == "wd" ? "weight_decay" : key, parseNumber(value)); // `wd` is short for `weight_decay`
  if (llvm::count(llvm::make_first_range(numbers), "weight_decay") > 1)
    return (void)emitErrorWithHint(loc, "'weight_decay' is given twice", "keep one of wd and weight_decay"),
           train::GroupAttr();
  return train::GroupAttr::fromNumbers([&] { return emitError(loc); }, loc.getContext(), match, numbers);
}
