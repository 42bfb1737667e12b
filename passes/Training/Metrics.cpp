// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/Metrics.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Nearest.h"
#include "passes/Training/DetectionMetric.h"
#include "passes/Training/LossForms.h"
#include "passes/Training/SampleLoss.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <tuple>

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
static std::optional<int64_t> labelAxis(ArrayRef<int64_t> logits, RankedTensorType labels) {
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

//===-- What a user can write -----------------------------------------------------===//

namespace {
/// The form in which a metric takes its scores: a label is the number of a class, of which each has a score; a
/// target belongs to one score, and is yes or no, or a number. Sequences are what a ctc loss compares. Detections are
/// boxes with scores (DetectionMetric.h).
enum class Takes { Labels, Targets, Either, Sequences, Detections };

struct MetricKind {
  StringLiteral name; // "top" stands for top1, top2, ...
  Takes takes;
  bool averages = false; // whether :macro, :micro or :binary may follow
  bool raw = false;      // whether it takes the scores before the network's own softmax or sigmoid
};

struct MetricSpec {
  const MetricKind *kind = nullptr;
  std::string name;   // kind and average: "f1:micro"
  std::string output; // empty where the loss decides
  std::string target;
};
} // namespace

static constexpr MetricKind metricKinds[] = {
    {"accuracy", Takes::Labels},
    {"top", Takes::Labels},
    {"confusion", Takes::Labels},
    {"perplexity", Takes::Labels, false, true},
    {"precision", Takes::Either, true, true},
    {"recall", Takes::Either, true, true},
    {"f1", Takes::Either, true, true},
    {"auc", Takes::Either, false, true},
    {"multilabel", Takes::Targets, false, true},
    {"exact", Takes::Targets, false, true},
    {"mae", Takes::Targets},
    {"rmse", Takes::Targets},
    {"token_error_rate", Takes::Sequences},
    {"map", Takes::Detections},
};
static constexpr StringLiteral averages[] = {"macro", "micro", "binary"};

std::string training::describeMetrics() {
  std::string text = "KIND or KIND:OUTPUT:TARGET, KIND = ";
  for (const MetricKind &kind : metricKinds) {
    text += (&kind == metricKinds ? "" : ", ") + (kind.name == "top" ? "top5 (any number)" : kind.name.str());
    if (kind.averages)
      text += "[:macro|:micro|:binary]";
    if (kind.takes == Takes::Detections)
      text += kDetectionForm;
  }
  return text;
}

static FailureOr<MetricSpec> parseMetric(const EntryBuilder &entry, StringRef text) {
  auto [word, rest] = text.split(':');
  if (text.starts_with("map,")) // options without names
    std::tie(word, rest) = text.split(',');
  auto refuse = [&, word = word] {
    SmallVector<StringRef> known;
    for (const MetricKind &kind : metricKinds)
      known.push_back(kind.name == "top" ? "top5" : StringRef(kind.name));
    return emitErrorWithHint(entry.loc, "'" + text + "' is not a metric",
                             (llvm::is_contained(known, word) ? "" : didYouMean(word, known)) + "write " +
                                 describeMetrics());
  };
  MetricSpec spec{nullptr, word.str(), "", ""};
  StringRef number = word;
  unsigned top = 0;
  bool isTop = number.consume_front("top") && !number.getAsInteger(10, top) && top > 0;
  for (const MetricKind &kind : metricKinds)
    if (isTop ? kind.name == "top" : kind.name == word && word != "top")
      spec.kind = &kind;
  if (!spec.kind || (rest.empty() && text.contains(':')))
    return refuse();
  if (spec.kind->takes == Takes::Detections)
    return spec; // DetectionMetric.h reads the rest
  auto [average, names] = rest.split(':');
  if (spec.kind->averages && llvm::is_contained(averages, average)) {
    spec.name += (":" + average).str();
    rest = names;
  }
  if (rest.empty())
    return spec;
  auto [output, target] = splitNames(rest, [&](StringRef name) { return bool(entry.output(name)); });
  if (output.empty() || target.empty())
    return refuse();
  spec.output = output.str();
  spec.target = target.str();
  return spec;
}

//===-- What it measures ------------------------------------------------------------===//

namespace {
/// Finds the scores and targets of metrics in an eval entry.
class MetricBuilder {
public:
  MetricBuilder(EntryBuilder &entry, StringRef lossText, Value lossValue)
      : entry(entry), classification(findClassification(lossValue)), own(scoresOf(entry, classification)),
        lossText(lossText), loss(lossNames(entry, lossText)) {
    if (own)
      ownTarget = entry.argumentName(stripViews(classification.labels));
    else if (std::optional<LossProbabilities> found = lossProbabilities(entry, lossText)) {
      own = Scores{found->scores, found->axis};
      ownTarget = found->target;
      probabilities = true;
    }
  }

  LogicalResult add(StringRef text);
  /// Adds the accuracy of the loss where that is a classification, and the error rate of sequences.
  void addDefault();
  ArrayAttr get() { return entry.builder.getArrayAttr(all); }

private:
  LogicalResult addOfTheLoss(const MetricSpec &spec, StringRef text);
  LogicalResult addDetections(StringRef text);
  LogicalResult addSequences(MetricSpec spec, StringRef text, const LossSequences &sequences);
  LogicalResult addLabels(const MetricSpec &spec, StringRef text, Value logits, Value labels);
  LogicalResult addTargets(const MetricSpec &spec, StringRef text, Value scores, Value targets);
  LogicalResult checkClasses(const MetricSpec &spec, StringRef text, int64_t classes);
  LogicalResult append(const MetricSpec &spec, StringRef text, Scores scores, StringRef outputName,
                       StringRef targetName);
  /// Returns the dimension of the classes that the loss decides where a metric compares the loss's labels with scores
  /// of the shape of the loss's prediction, or of the scores that the loss makes of it (before a softmax, with the
  /// classes at the end).
  std::optional<int64_t> sharedAxis(const MetricSpec &spec, Value logits) const {
    if (!own || spec.target != ownTarget)
      return std::nullopt;
    Value prediction = loss.output.empty() ? Value() : entry.output(loss.output);
    if (loss.axis && prediction && shapeOf(prediction) == shapeOf(logits))
      return *loss.axis < 0 ? *loss.axis + typeOf(logits).getRank() : *loss.axis;
    return shapeOf(logits) == shapeOf(own->logits) ? std::optional(own->axis) : std::nullopt;
  }
  /// Returns whether the target of a metric with names holds probabilities of the classes of such scores.
  bool ofProbabilities(const MetricSpec &spec, Value logits) const {
    return probabilities && spec.kind->takes != Takes::Targets && sharedAxis(spec, logits);
  }
  /// Returns the operand of the network's own softmax over the classes, or of its sigmoid where `classAxis` has no
  /// value, and changes the name then.
  Value beforeActivation(Value v, std::optional<int64_t> classAxis, std::string &name);

  EntryBuilder &entry;
  Classification classification;
  std::optional<Scores> own;
  StringRef lossText;
  std::string ownTarget;      // the input with the labels of `own`
  bool probabilities = false; // whether they are probabilities of classes
  LossNames loss;
  SmallVector<Attribute> all;
  llvm::StringSet<> names, wholes; // short ones that are taken, and those with output and target
};
} // namespace

static std::string typeText(Value v) {
  std::string text;
  llvm::raw_string_ostream(text) << v.getType();
  return text;
}

Value MetricBuilder::beforeActivation(Value v, std::optional<int64_t> classAxis, std::string &name) {
  auto activation = stripViews(v).getDefiningOp<ProbabilityOpInterface>();
  if (!activation || shapeOf(v) != shapeOf(activation->getResult(0)) || activation.getClassAxis() != classAxis)
    return v;
  do
    name += ".scores";
  while (entry.output(name));
  return activation->getOperand(0);
}

LogicalResult MetricBuilder::append(const MetricSpec &spec, StringRef text, Scores scores, StringRef outputName,
                                    StringRef targetName) {
  Builder &b = entry.builder;
  const std::string whole = spec.name + ":" + spec.output + ":" + spec.target;
  if (!wholes.insert(whole).second)
    return emitErrorWithHint(entry.loc, "metric '" + text + "' is given twice", "keep one of them");
  // The first metric of a kind has a short name.
  const std::string name = names.insert(spec.name).second ? spec.name : whole;
  if (!entry.hasResult(outputName))
    entry.addResult(scores.logits, "output", outputName);
  NamedAttrList metric;
  for (auto [key, value] : {std::pair<StringRef, StringRef>("name", name),
                            {"kind", spec.name},
                            {"logits", outputName},
                            {"labels", targetName}})
    metric.set(key, b.getStringAttr(value));
  metric.set("axis", b.getI64IntegerAttr(scores.axis));
  if (scores.ignored)
    metric.set("ignore", b.getI64IntegerAttr(*scores.ignored));
  all.push_back(metric.getDictionary(b.getContext()));
  return success();
}

LogicalResult MetricBuilder::checkClasses(const MetricSpec &spec, StringRef text, int64_t classes) {
  constexpr int64_t kMostOfATable = 1000;
  if (spec.kind->name == "confusion" && classes > kMostOfATable)
    return emitErrorWithHint(
        entry.loc, "metric '" + text + "': a table of " + Twine(classes) + " classes has too many numbers",
        "confusion takes up to " + Twine(kMostOfATable) + " classes; write f1, precision or recall");
  int64_t top = 0;
  if (spec.kind->name == "top" && (StringRef(spec.name).drop_front(3).getAsInteger(10, top) || top > classes))
    return emitErrorWithHint(entry.loc, "metric '" + text + "': there are only " + Twine(classes) + " classes",
                             "write a number of at most " + Twine(classes));
  if (StringRef(spec.name).ends_with(":binary") && classes != 2)
    return emitErrorWithHint(entry.loc,
                             "metric '" + text + "': binary is for 2 classes, and there are " + Twine(classes),
                             "write :macro or :micro");
  return success();
}

LogicalResult MetricBuilder::addLabels(const MetricSpec &spec, StringRef text, Value logits, Value labels) {
  // Where two dimensions fit, the dimension of the loss is taken.
  bool ofTheLoss = own && own->logits == logits;
  std::optional<int64_t> shared = ofTheLoss ? own->axis : sharedAxis(spec, logits);
  std::optional<int64_t> axis = shared ? shared : labelAxis(shapeOf(logits), typeOf(labels));
  if (!axis)
    return emitErrorWithHint(entry.loc,
                             "metric '" + text + "': the labels " + typeText(labels) + " do not fit the logits " +
                                 typeText(logits),
                             "labels have the shape of the logits without the dimension of the classes");
  // A network that computes its loss itself may take float labels and make integers of them.
  if (!isa<IntegerType>(elementOf(labels)) && !ofProbabilities(spec, logits) &&
      !(classification.labels && stripViews(classification.labels) == labels))
    return emitErrorWithHint(entry.loc,
                             "metric '" + text + "': the labels '" + spec.target + "' are " + typeText(labels) +
                                 ", but a class is an integer",
                             "name an input of integers; " + spec.kind->name + " is for classifications only");
  if (failed(checkClasses(spec, text, shapeOf(logits)[*axis])))
    return failure();
  std::string name = spec.output;
  Value scores = spec.kind->raw ? beforeActivation(logits, axis, name) : logits;
  entry.keepArgument(labels);
  return append(spec, text, {scores, *axis, shared ? own->ignored : std::nullopt}, name, spec.target);
}

LogicalResult MetricBuilder::addTargets(const MetricSpec &spec, StringRef text, Value scores, Value targets) {
  ArrayRef<int64_t> shape = shapeOf(scores);
  int64_t rank = int64_t(shape.size());
  std::optional<int64_t> batch = entry.batchSize();
  if (typeOf(scores).getNumElements() != typeOf(targets).getNumElements())
    return emitErrorWithHint(entry.loc,
                             "metric '" + text + "': the target " + typeText(targets) +
                                 " does not have the shape of the output, " + typeText(scores),
                             spec.kind->takes == Takes::Either
                                 ? "name a target with a yes or no for each score, or integer labels of classes"
                                 : "name a target with a number for each element of the output");
  if (shape.empty() || !batch || shape[0] % *batch != 0)
    return emitErrorWithHint(entry.loc,
                             "metric '" + text + "': the output " + typeText(scores) + " has no part for each sample",
                             "name an output whose first dimension counts the samples");
  // The labels of pictures lie behind the batch, as the classes do; those of sequences at the end.
  int64_t axis = rank == 3 ? 2 : 1;
  if (int64_t labels = rank > 1 ? shape[axis] : 1; StringRef(spec.name).ends_with(":binary") && labels != 1)
    return emitErrorWithHint(entry.loc,
                             "metric '" + text + "': binary is for one label, and there are " + Twine(labels),
                             "write :macro or :micro");
  std::string name = spec.output;
  if (spec.kind->raw)
    scores = beforeActivation(scores, /*classAxis=*/std::nullopt, name);
  entry.keepArgument(targets);
  return append(spec, text, {scores, axis}, name, spec.target);
}

LogicalResult MetricBuilder::addSequences(MetricSpec spec, StringRef text, const LossSequences &sequences) {
  spec.output = sequences.output;
  spec.target = sequences.target;
  std::string name = spec.output;
  do
    name += ".decoded";
  while (entry.output(name));
  return append(spec, text, {sequences.frames, 1}, name, spec.target);
}

LogicalResult MetricBuilder::addDetections(StringRef text) {
  FailureOr<DetectionMetrics> detections = findDetections(entry, text);
  if (failed(detections))
    return failure();
  if (!wholes.insert("map" + detections->names).second)
    return emitErrorWithHint(entry.loc, "metric '" + text + "' is given twice", "keep one of them");
  for (auto &[name, metric] : detections->metrics) {
    const bool isFirst = names.insert(name).second;
    metric.set("name", entry.builder.getStringAttr(isFirst ? name : name + detections->names));
    all.push_back(metric.getDictionary(entry.builder.getContext()));
  }
  return success();
}

LogicalResult MetricBuilder::addOfTheLoss(const MetricSpec &spec, StringRef text) {
  MetricSpec named = spec;
  if (spec.kind->takes == Takes::Sequences) {
    if (std::optional<LossSequences> sequences = lossSequences(entry, lossText))
      return addSequences(spec, text, *sequences);
    return emitErrorWithHint(entry.loc, "metric '" + text + "': the loss compares no sequences",
                             "it is for --loss=ctc:LOGITS:TARGETS:INPUT_LENGTHS:TARGET_LENGTHS");
  }
  if (spec.kind->takes != Takes::Targets && own) {
    named.output = nameOf(entry, own->logits);
    named.target = ownTarget;
    if (failed(checkClasses(named, text, shapeOf(own->logits)[own->axis])))
      return failure();
    return append(named, text, *own, named.output, named.target);
  }
  named.output = loss.output;
  named.target = loss.target;
  Value scores = entry.output(loss.output), targets = entry.argument(loss.target);
  if (spec.kind->takes == Takes::Labels || own || classification.logits || !scores || !targets)
    return emitErrorWithHint(
        entry.loc,
        "metric '" + text + "': the loss does not say what it compares" +
            (spec.kind->takes == Takes::Labels ? "; it is no classification whose labels are an input" : ""),
        "write " + spec.name + ":OUTPUT:TARGET, an output of the network and an input");
  return addTargets(named, text, scores, targets);
}

LogicalResult MetricBuilder::add(StringRef text) {
  FailureOr<MetricSpec> spec = parseMetric(entry, text);
  if (failed(spec))
    return failure();
  if (spec->kind->takes == Takes::Detections)
    return addDetections(text);
  if (spec->output.empty())
    return addOfTheLoss(*spec, text);
  if (spec->kind->takes == Takes::Sequences)
    return emitErrorWithHint(entry.loc, "metric '" + text + "' takes no names",
                             "write " + spec->name + ": it compares what a ctc loss compares");
  Value output = entry.output(spec->output);
  if (!output && spec->output == "logits")
    output = own ? own->logits : classification.logits;
  Value target = entry.argument(spec->target);
  if (!output || !target)
    return emitErrorWithHint(entry.loc,
                             "metric '" + text +
                                 "': " + (output ? "no input '" + spec->target : "no output '" + spec->output) + "'",
                             "name an output of the network and an input with its labels");
  if (!isFloat(output))
    return emitErrorWithHint(entry.loc,
                             "metric '" + text + "': the output '" + spec->output + "' is " + typeText(output),
                             "name an output of floats");
  bool ofClasses = spec->kind->takes == Takes::Labels || ofProbabilities(*spec, output) ||
                   (spec->kind->takes == Takes::Either && isa<IntegerType>(elementOf(target)) &&
                    typeOf(output).getNumElements() != typeOf(target).getNumElements());
  return ofClasses ? addLabels(*spec, text, output, target) : addTargets(*spec, text, output, target);
}

void MetricBuilder::addDefault() {
  if (own)
    (void)append({&metricKinds[0], "accuracy", "", ""}, "accuracy", *own, nameOf(entry, own->logits), ownTarget);
  else if (std::optional<LossSequences> sequences = lossSequences(entry, lossText))
    (void)addSequences({llvm::find_if(metricKinds, [](const MetricKind &k) { return k.takes == Takes::Sequences; }),
                        "token_error_rate", "", ""},
                       "token_error_rate", *sequences);
}

FailureOr<ArrayAttr> training::addMetrics(EntryBuilder &entry, ArrayRef<std::string> texts, StringRef lossText,
                                          Value loss) {
  MetricBuilder metrics(entry, lossText, loss);
  // The comma that separates metrics also separates the options of one.
  SmallVector<std::string> joined;
  for (const std::string &text : texts)
    if (StringRef name = StringRef(text).split(':').first; name.contains('=') && !joined.empty())
      joined.back() += "," + text;
    else
      joined.push_back(text);
  bool good = true;
  for (const std::string &text : joined)
    good &= succeeded(metrics.add(text));
  if (texts.empty())
    metrics.addDefault();
  if (!good)
    return failure();
  return metrics.get();
}
