// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/LossSpec.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Nearest.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

//===-- The options ---------------------------------------------------------------===//

namespace {
struct LossOption {
  StringLiteral name, value, wanted; // one without a value is also true where its name stands alone
  /// Returns false for a text that is not what is wanted.
  bool (*read)(StringRef text, LossSpec &spec);
};
} // namespace

static bool readAxis(StringRef text, LossSpec &spec) {
  int64_t axis = 0;
  if (text.getAsInteger(10, axis))
    return false;
  spec.axis = axis;
  return true;
}
static bool readIgnoreIndex(StringRef text, LossSpec &spec) { return !text.getAsInteger(10, spec.ignoreIndex); }
static bool readSmoothing(StringRef text, LossSpec &spec) {
  return !text.getAsDouble(spec.labelSmoothing) && spec.labelSmoothing >= 0 && spec.labelSmoothing <= 1;
}
static bool readNumbers(StringRef text, SmallVector<double> &numbers) {
  SmallVector<StringRef> parts;
  text.split(parts, '/');
  for (StringRef part : parts) {
    double number = 0;
    if (part.getAsDouble(number) || !std::isfinite(number))
      return false;
    numbers.push_back(number);
  }
  return true;
}
static bool readWeight(StringRef text, LossSpec &spec) { return readNumbers(text, spec.weight); }
static bool readPosWeight(StringRef text, LossSpec &spec) {
  return readNumbers(text, spec.posWeight) && llvm::all_of(spec.posWeight, [](double weight) { return weight >= 0; });
}
static bool readBlank(StringRef text, LossSpec &spec) { return !text.getAsInteger(10, spec.blank); }
static bool readFlag(StringRef text, bool &flag) {
  flag = text != "false";
  return text == "true" || text == "false";
}
static bool readZeroInfinity(StringRef text, LossSpec &spec) { return readFlag(text, spec.zeroInfinity); }
static bool readProbabilities(StringRef text, LossSpec &spec) { return readFlag(text, spec.probabilities); }
static bool readBatchFirst(StringRef text, LossSpec &spec) { return readFlag(text, spec.batchFirst.emplace()); }
static bool readMaxTarget(StringRef text, LossSpec &spec) {
  return !text.getAsInteger(10, spec.maxTarget.emplace()) && *spec.maxTarget > 0;
}
static bool readReduction(StringRef text, LossSpec &spec) {
  spec.reduction = text == "sum" ? LossReduction::sum : LossReduction::mean;
  return text == "sum" || text == "mean";
}

static constexpr LossOption allOptions[] = {
    {"axis", "N", "the number of a dimension", readAxis},
    {"ignore_index", "-100", "a whole number", readIgnoreIndex},
    {"label_smoothing", "0", "a number from 0 to 1", readSmoothing},
    // The tool writes out the numbers of a file (tools/mpc/LossWeights.h).
    {"weight", "W0/W1/...|FILE.npy", "numbers with '/' between them", readWeight},
    {"pos_weight", "P|P0/P1/...|FILE.npy", "numbers of at least 0 with '/' between them", readPosWeight},
    {"probabilities", "", "true or false", readProbabilities},
    {"blank", "0", "a whole number", readBlank},
    {"zero_infinity", "", "true or false", readZeroInfinity},
    {"batch_first", "true|false", "true or false", readBatchFirst},
    {"max_target", "S", "a positive number", readMaxTarget},
    {"reduction", "mean|sum", "mean or sum: a loss is one number", readReduction},
};

static const LossOption &optionNamed(StringRef name) {
  return *llvm::find_if(allOptions, [&](const LossOption &option) { return option.name == name; });
}

static bool isFlag(StringRef name) {
  return llvm::any_of(allOptions,
                      [&](const LossOption &option) { return option.name == name && option.value.empty(); });
}

//===-- The grammar -----------------------------------------------------------------===//

static std::string describeNames(const LossForm &form) {
  return (Twine(form.name) + ":" + form.prediction + ":" + form.target).str();
}

static std::string describe(const LossForm &form) {
  std::string text = describeNames(form);
  for (StringRef option : form.options)
    text += ("[," + option + (isFlag(option) ? "" : "=") + optionNamed(option).value + "]").str();
  return text;
}

std::string training::describeLosses() {
  std::string text;
  for (const LossForm &form : lossForms())
    text += describe(form) + ", ";
  return text + "or output:NAME";
}

std::string training::nameLosses() {
  std::string text;
  for (const LossForm &form : lossForms())
    text += describeNames(form) + ", ";
  return text + "or output:NAME (`mpc compile --help` gives their options)";
}

/// Returns where the options begin: names of tensors may hold commas, but not `,key=` or `,flag`.
static size_t optionsBegin(StringRef text) {
  for (size_t comma = text.find(','); comma != StringRef::npos; comma = text.find(',', comma + 1)) {
    StringRef rest = text.drop_front(comma + 1);
    StringRef key = rest.take_while([](char c) { return llvm::isAlpha(c) || c == '_'; });
    StringRef behind = rest.drop_front(key.size());
    if (!key.empty() && (behind.starts_with("=") || (isFlag(key) && (behind.empty() || behind.starts_with(",")))))
      return comma;
  }
  return text.size();
}

FailureOr<LossSpec> training::parseLossSpec(Location loc, StringRef text) {
  auto [formName, rest] = text.split(':');
  ArrayRef<LossForm> forms = lossForms();
  const LossForm *form = llvm::find_if(forms, [&](const LossForm &f) { return f.name == formName; });
  if (formName == "output")
    return emitErrorWithHint(loc, "loss '" + text + "' names no output",
                             "write output:NAME, the output of the network that is its loss");
  if (form == forms.end())
    return emitErrorWithHint(
        loc, "there is no loss '" + formName + "'",
        didYouMean(formName, llvm::map_to_vector(forms, [](const LossForm &f) { return StringRef(f.name); })) +
            "the losses are " + nameLosses());
  LossSpec spec;
  spec.form = form;
  size_t begin = optionsBegin(rest);
  spec.names = rest.take_front(begin).str();
  SmallVector<StringRef> options;
  rest.drop_front(begin).split(options, ',', -1, /*KeepEmpty=*/false);
  llvm::StringSet<> seen;
  for (StringRef item : options) {
    auto [key, value] = item.split('=');
    if (!llvm::is_contained(form->options, key))
      return emitErrorWithHint(loc, "loss '" + formName + "' has no option '" + key + "'", "write " + describe(*form));
    if (!seen.insert(key).second)
      return emitErrorWithHint(loc, "loss '" + text + "' gives '" + key + "' twice", "keep one of them");
    const LossOption &option = optionNamed(key);
    if (key == item && isFlag(key))
      value = "true";
    if (!option.read(value, spec))
      return emitErrorWithHint(loc, "loss '" + formName + "': " + key + "='" + value + "' is not " + option.wanted,
                               "write " + describe(*form));
  }
  if (spec.probabilities && seen.contains("ignore_index"))
    return emitErrorWithHint(loc, "loss '" + text + "': no label is ignored where labels are probabilities of classes",
                             "leave ignore_index out; without label_smoothing, a label whose probabilities are all 0 "
                             "costs nothing");
  return spec;
}
