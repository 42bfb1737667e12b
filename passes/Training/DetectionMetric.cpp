// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/DetectionMetric.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Nearest.h"
#include "passes/Training/LossForms.h"
#include "passes/Training/Specs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <array>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

namespace {
enum Part { Detections, Scores, Boxes, Labels, Parts };
struct Named {
  std::string name;
  Value value;
};
using Chosen = std::array<Named, Parts>;

constexpr StringLiteral partNames[] = {"detections", "scores", "boxes", "labels"};

struct Options {
  double iou = 0.5, nms = 0.5, scoreThreshold = 0.05;
  int64_t maxDetections = 100;
};
} // namespace

static std::string typeText(Value v) {
  std::string text;
  llvm::raw_string_ostream(text) << v.getType();
  return text;
}

static LogicalResult refuse(EntryBuilder &entry, StringRef text, const Twine &what, const Twine &hint) {
  return emitErrorWithHint(entry.loc, "metric '" + text + "': " + what, hint);
}

static FailureOr<Options> parseOptions(EntryBuilder &entry, StringRef text, StringRef list) {
  auto pairs = parsePairs(entry.loc, list);
  if (failed(pairs))
    return failure();
  Options options;
  for (auto [key, value] : *pairs) {
    double number;
    const bool isNumber = !value.getAsDouble(number);
    auto wrong = [&, key = key, value = value](const Twine &what) {
      return refuse(entry, text, key + "='" + value + "' is not " + what, "write for example map,iou=0.5,nms=0.5");
    };
    if (key == "iou") {
      if (!isNumber || !(number > 0 && number <= 1))
        return wrong("a number above 0, and at most 1");
      options.iou = number;
    } else if (key == "nms") {
      if (!isNumber || !(number >= 0 && number <= 1))
        return wrong("a number from 0 to 1");
      options.nms = number;
    } else if (key == "score_threshold") {
      if (!isNumber || !(number >= 0 && number < 1))
        return wrong("a number of at least 0, and below 1");
      options.scoreThreshold = number;
    } else if (key == "max_detections") {
      if (value.getAsInteger(10, options.maxDetections) || options.maxDetections < 1)
        return wrong("a whole number of at least 1");
    } else {
      return refuse(entry, text, "has no option '" + key + "'",
                    didYouMean(key, {"iou", "nms", "max_detections", "score_threshold"}) + "write map" +
                        kDetectionForm);
    }
  }
  return options;
}

/// Returns what is wrong with the first value that does not fit those before it; "" where all fit.
static std::string mismatch(EntryBuilder &entry, const Chosen &chosen) {
  auto shape = [&](Part part) { return shapeOf(chosen[part].value); };
  auto wrong = [&](Part part, const Twine &needed) {
    return ("'" + chosen[part].name + "' is " + typeText(chosen[part].value) + ", but " + partNames[part] + " are " +
            needed)
        .str();
  };
  const int64_t batch = entry.batchSize().value_or(-1);
  if (!isFloat(chosen[Scores].value) || shape(Scores).size() != 3 || shape(Scores)[0] != batch)
    return wrong(Scores, "floats [batch,anchors,classes]");
  const int64_t anchors = shape(Scores)[1], classes = shape(Scores)[2];
  if (!isFloat(chosen[Detections].value) || (shape(Detections) != ArrayRef<int64_t>{batch, anchors, 4} &&
                                             shape(Detections) != ArrayRef<int64_t>{batch, anchors, classes, 4}))
    return wrong(Detections, "floats [" + Twine(batch) + "," + Twine(anchors) + ",4] or [" + Twine(batch) + "," +
                                 Twine(anchors) + "," + Twine(classes) + ",4]");
  if (!isFloat(chosen[Boxes].value) || shape(Boxes).size() != 3 || shape(Boxes)[0] != batch || shape(Boxes)[2] != 4)
    return wrong(Boxes, "floats [" + Twine(batch) + ",boxes,4]");
  auto integer = dyn_cast<IntegerType>(elementOf(chosen[Labels].value));
  if (!integer || integer.getWidth() < 8 || shape(Labels) != shape(Boxes).drop_back())
    return wrong(Labels, "integers [" + Twine(batch) + "," + Twine(shape(Boxes)[1]) + "]");
  return "";
}

/// Finds outputs and inputs of this text, DETECTIONS:SCORES:BOXES:LABELS.
static FailureOr<Chosen> chooseNamed(EntryBuilder &entry, StringRef text, StringRef names) {
  Chosen chosen;
  for (Part part : {Detections, Scores, Boxes, Labels}) {
    auto find = [&](StringRef name) { return part < Boxes ? entry.output(name) : entry.argument(name); };
    auto [name, rest] = part == Labels ? std::pair(names, StringRef())
                                       : splitNames(names, [&](StringRef name) { return bool(find(name)); });
    if (name.empty() || (rest.empty() && part != Labels))
      return refuse(entry, text, "names no " + partNames[rest.empty() && !name.empty() ? part + 1 : part],
                    "write map" + kDetectionForm);
    chosen[part] = {name.str(), find(name)};
    if (!chosen[part].value)
      return refuse(entry, text, Twine(part < Boxes ? "no output '" : "no input '") + name + "'",
                    "name two outputs of the network and two inputs: map" + kDetectionForm);
    names = rest;
  }
  if (std::string wrong = mismatch(entry, chosen); !wrong.empty())
    return refuse(entry, text, wrong, "name outputs and inputs of these shapes: map" + kDetectionForm);
  return chosen;
}

/// Finds the only outputs and inputs that fit; among several those with the most standard names.
static FailureOr<Chosen> chooseByShape(EntryBuilder &entry, StringRef text) {
  SmallVector<Named> outputs, inputs;
  for (const auto &[name, value] : entry.outputs())
    outputs.push_back({name, value});
  for (BlockArgument argument : entry.block().getArguments())
    inputs.push_back({entry.argumentName(argument).str(), argument});
  Chosen best;
  int most = -1;
  bool several = false;
  for (const Named &detections : outputs)
    for (const Named &scores : outputs)
      for (const Named &boxes : inputs)
        for (const Named &labels : inputs) {
          Chosen chosen = {detections, scores, boxes, labels};
          if (detections.value == scores.value || !mismatch(entry, chosen).empty())
            continue;
          int standard = 0;
          for (Part part : {Detections, Scores, Boxes, Labels})
            standard += chosen[part].name == partNames[part];
          several = standard == most || (several && standard < most);
          if (standard <= most)
            continue;
          most = standard;
          best = chosen;
        }
  if (most < 0)
    return refuse(entry, text,
                  "no outputs [batch,anchors,4] and [batch,anchors,classes] and inputs [batch,boxes,4] and "
                  "[batch,boxes] of integers fit together",
                  "name them: map" + kDetectionForm);
  if (several)
    return refuse(entry, text, "several outputs or inputs fit", "name them: map" + kDetectionForm);
  return best;
}

FailureOr<DetectionMetrics> training::findDetections(EntryBuilder &entry, StringRef text) {
  auto [names, list] = text.drop_front(StringRef("map").size()).split(',');
  FailureOr<Options> options = parseOptions(entry, text, list);
  if (failed(options))
    return failure();
  FailureOr<Chosen> chosen = names.empty() ? chooseByShape(entry, text) : chooseNamed(entry, text, names.drop_front());
  if (failed(chosen))
    return failure();
  DetectionMetrics result;
  for (Part part : {Detections, Scores, Boxes, Labels}) {
    const auto &[name, value] = (*chosen)[part];
    result.names += ":" + name;
    if (part >= Boxes)
      entry.keepArgument(value);
    else if (!entry.hasResult(name))
      entry.addResult(value, "output", name);
  }
  Builder &b = entry.builder;
  NamedAttrList metric;
  for (auto [key, value] : {std::pair<StringRef, StringRef>("kind", "map"),
                            {"logits", (*chosen)[Scores].name},
                            {"labels", (*chosen)[Labels].name},
                            {"detections", (*chosen)[Detections].name},
                            {"boxes", (*chosen)[Boxes].name}})
    metric.set(key, b.getStringAttr(value));
  metric.set("axis", b.getI64IntegerAttr(2));
  metric.set("nms", b.getF64FloatAttr(options->nms));
  metric.set("max_detections", b.getI64IntegerAttr(options->maxDetections));
  metric.set("score_threshold", b.getF64FloatAttr(options->scoreThreshold));
  result.metrics.emplace_back("map", metric);
  metric.set("iou", b.getF64FloatAttr(options->iou));
  std::string name;
  llvm::raw_string_ostream(name) << "map" << llvm::format("%g", 100 * options->iou);
  result.metrics.emplace_back(name, metric);
  return result;
}
