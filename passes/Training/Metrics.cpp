// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/Metrics.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Nearest.h"
#include "passes/Training/SampleLoss.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

namespace {
/// In these logits each label finds its scores along `axis`.
struct Scores {
  Value logits;
  int64_t axis = 1;
  std::optional<int64_t> ignored = {}; // the class whose labels are not counted
};
} // namespace

/// Returns the dimension that holds the classes of these logits for these labels: it is
/// behind the batch, or at the end. The result is nullopt where the labels do not fit.
static std::optional<int64_t> classAxis(ArrayRef<int64_t> logits, RankedTensorType labels) {
  int64_t rank = int64_t(logits.size());
  auto matching = [&](auto &&matches) -> std::optional<int64_t> {
    for (int64_t axis : {int64_t(1), rank - 1}) {
      if (axis < 1 || axis >= rank)
        continue;
      Shape rest(logits);
      rest.erase(rest.begin() + axis);
      if (matches(rest))
        return axis;
    }
    return std::nullopt;
  };
  if (auto axis = matching([&](const Shape &rest) { return ArrayRef<int64_t>(rest) == labels.getShape(); }))
    return axis;
  // Dimensions of 1 may differ: [N, 1] labels for [N, C] logits.
  return matching([&](const Shape &rest) { return ShapedType::getNumElements(rest) == labels.getNumElements(); });
}

/// Returns the logits of a classification in the shape of its labels' input: rows [N*T, C] of labels [N, T...]
/// become [N, T..., C], so that tokens and pixels are counted in their samples. The result is nullopt where the
/// labels are no input.
static std::optional<Scores> scoresOf(EntryBuilder &entry, const Classification &classification) {
  if (!classification.logits)
    return std::nullopt;
  Value source = stripViews(classification.labels), logits = classification.logits;
  if (entry.argumentName(source).empty() || !entry.batchSize())
    return std::nullopt;
  ArrayRef<int64_t> labels = shapeOf(source);
  if (labels.empty() || labels[0] != *entry.batchSize() ||
      typeOf(source).getNumElements() * classification.classes != typeOf(logits).getNumElements())
    return std::nullopt;
  // Labels outside the classes are not counted anyway.
  std::optional<int64_t> ignored = classification.ignored;
  if (ignored && (*ignored < 0 || *ignored >= classification.classes))
    ignored.reset();
  if (shapeOf(logits)[0] == labels[0])
    return Scores{logits, 1, ignored};
  if (typeOf(logits).getRank() != 2)
    return std::nullopt;
  Shape shape(labels);
  shape.push_back(classification.classes);
  // The network's own output is taken where it has that shape, so that it keeps its name.
  for (const auto &[name, value] : entry.outputs())
    if (stripViews(value) == stripViews(logits) && shapeOf(value) == ArrayRef<int64_t>(shape))
      return Scores{value, int64_t(labels.size()), ignored};
  return Scores{reshapeTo(entry.builder, entry.loc, logits, shape), int64_t(labels.size()), ignored};
}

/// Returns the name of a value among the network's outputs, or "logits".
static std::string nameOf(const EntryBuilder &entry, Value v) {
  for (const auto &[name, value] : entry.outputs())
    if (value == v)
      return name;
  return "logits";
}

FailureOr<ArrayAttr> training::addMetrics(EntryBuilder &entry, ArrayRef<std::string> texts, Value loss) {
  Builder &b = entry.builder;
  SmallVector<Attribute> all;
  auto add = [&](Scores scores, StringRef logitsName, StringRef labelsName) {
    if (!entry.hasResult(logitsName))
      entry.addResult(scores.logits, "output", logitsName);
    NamedAttrList metric;
    for (auto [key, value] : {std::pair<StringRef, StringRef>("name", "accuracy"),
                              {"kind", "accuracy"},
                              {"logits", logitsName},
                              {"labels", labelsName}})
      metric.set(key, b.getStringAttr(value));
    metric.set("axis", b.getI64IntegerAttr(scores.axis));
    if (scores.ignored)
      metric.set("ignore", b.getI64IntegerAttr(*scores.ignored));
    all.push_back(metric.getDictionary(b.getContext()));
  };
  Classification classification = findClassification(loss);
  std::optional<Scores> own = scoresOf(entry, classification);
  for (const std::string &text : texts) {
    SmallVector<StringRef> parts;
    StringRef(text).split(parts, ':');
    if (parts.size() != 3 || parts[0] != "accuracy")
      return emitErrorWithHint(entry.loc, "'" + text + "' is not a metric",
                               (parts[0] == "accuracy" ? "" : didYouMean(parts[0], {"accuracy"})) +
                                   "write accuracy:LOGITS:LABELS");
    Value logits = entry.output(parts[1]);
    if (!logits && parts[1] == "logits")
      logits = own ? own->logits : classification.logits;
    Value labels = entry.argument(parts[2]);
    if (!logits || !labels)
      return emitErrorWithHint(
          entry.loc, "metric '" + text + "': " + (logits ? "no input '" + parts[2] : "no output '" + parts[1]) + "'",
          "name an output of the network and an input with its labels");
    // Where two dimensions fit, the dimension of the loss is taken.
    bool ofTheLoss = own && own->logits == logits;
    std::optional<int64_t> axis = ofTheLoss ? own->axis : classAxis(shapeOf(logits), typeOf(labels));
    if (!axis) {
      std::string types;
      llvm::raw_string_ostream(types) << labels.getType() << " do not fit the logits " << logits.getType();
      return emitErrorWithHint(entry.loc, "metric '" + text + "': the labels " + types,
                               "labels have the shape of the logits without the dimension of the classes");
    }
    // A network that computes its loss itself may take float labels and make integers of them.
    if (!isa<IntegerType>(elementOf(labels)) &&
        !(classification.labels && stripViews(classification.labels) == labels)) {
      std::string type;
      llvm::raw_string_ostream(type) << labels.getType();
      return emitErrorWithHint(
          entry.loc, "metric '" + text + "': the labels '" + parts[2] + "' are " + type + ", but a class is an integer",
          "name an input of integers; accuracy is for classifications only");
    }
    entry.keepArgument(labels);
    add({logits, *axis, ofTheLoss ? own->ignored : std::nullopt}, parts[1], parts[2]);
  }
  if (texts.empty() && own)
    add(*own, nameOf(entry, own->logits), entry.argumentName(stripViews(classification.labels)));
  return b.getArrayAttr(all);
}
