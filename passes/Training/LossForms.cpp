// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/LossForms.h"
#include "dialects/Graph/IR/Losses.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Training/CtcInputs.h"
#include "passes/Training/InferLoss.h"
#include "passes/Training/LossSpec.h"
#include "passes/Training/LossTargets.h"
#include "passes/Training/SampleLoss.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

//===-- The forms ---------------------------------------------------------------===//

/// Returns the sum or the mean over all elements.
static Value reduced(const GraphBuilder &b, Value x, const LossSpec &spec) {
  if (spec.reduction == LossReduction::sum)
    return b.sum(x, allAxes(x));
  return b.create<ReduceMeanOp>(x, allAxes(x), /*keepdims=*/false);
}

/// Returns the weights of the classes, or null.
static Value classWeights(const GraphBuilder &b, const LossSpec &spec) {
  if (spec.weight.empty())
    return {};
  SmallVector<float> weights(spec.weight.begin(), spec.weight.end());
  auto type = RankedTensorType::get({int64_t(weights.size())}, b.builder.getF32Type());
  return b.create<ConstantOp>(DenseElementsAttr::get(type, ArrayRef<float>(weights)));
}

static Value softmaxCrossEntropy(const GraphBuilder &b, Value logits, Value labels, const LossSpec &spec) {
  if (spec.labelSmoothing > 0)
    return smoothedCrossEntropy(b, logits, labels, classWeights(b, spec), spec.reduction, spec.ignoreIndex,
                                spec.labelSmoothing);
  return b.create<SoftmaxCrossEntropyOp>(logits, labels, classWeights(b, spec), spec.reduction,
                                         b.builder.getI64IntegerAttr(spec.ignoreIndex));
}
static Value nll(const GraphBuilder &b, Value logProbabilities, Value labels, const LossSpec &spec) {
  return b.create<NllLossOp>(logProbabilities, labels, classWeights(b, spec), spec.reduction,
                             b.builder.getI64IntegerAttr(spec.ignoreIndex));
}
/// The loss of an element is (p - t)^2.
static Value mse(const GraphBuilder &b, Value p, Value t, const LossSpec &spec) {
  return reduced(b, b.square(b.sub(p, t)), spec);
}
/// The loss of an element is |p - t|.
static Value l1(const GraphBuilder &b, Value p, Value t, const LossSpec &spec) {
  return reduced(b, b.abs(b.sub(p, t)), spec);
}
/// The loss of an element is a^2/2 where a = |p - t| < 1, and a - 1/2 elsewhere (torch smooth_l1_loss, beta = 1): with
/// c = min(a, 1) it is c*(a - c/2).
static Value smoothL1(const GraphBuilder &b, Value p, Value t, const LossSpec &spec) {
  Value a = b.abs(b.sub(p, t)), c = b.clip(a, 0, 1);
  return reduced(b, b.mul(c, b.sub(a, b.mul(c, 0.5))), spec);
}
/// The loss of an element is (1 - t)*x + log(1 + e^-x) (torch binary_cross_entropy_with_logits). With a weight p of the
/// positives the logarithm is multiplied with 1 + (p - 1)*t.
static Value bceWithLogits(const GraphBuilder &b, Value x, Value t, const LossSpec &spec) {
  Value rest = b.sub(1, t), soft = b.create<SoftplusOp>(b.neg(x));
  if (spec.posWeight.size() == 1)
    soft = b.mul(soft, b.add(b.mul(t, spec.posWeight[0] - 1), 1));
  if (spec.posWeight.size() > 1) {
    SmallVector<float> more;
    for (double weight : spec.posWeight)
      more.push_back(float(weight - 1));
    auto type = RankedTensorType::get({int64_t(more.size())}, b.builder.getF32Type());
    Value constant = b.create<ConstantOp>(DenseElementsAttr::get(type, ArrayRef<float>(more)));
    soft = b.mul(soft, b.add(b.mul(t, constant), 1));
  }
  return reduced(b, b.add(b.mul(rest, x), soft), spec);
}

static constexpr StringLiteral entropyOptions[] = {"axis",   "ignore_index", "label_smoothing",
                                                   "weight", "reduction",    "probabilities"};
static constexpr StringLiteral nllOptions[] = {"axis", "ignore_index", "weight", "reduction"};
static constexpr StringLiteral elementOptions[] = {"reduction"};
static constexpr StringLiteral bceOptions[] = {"pos_weight", "reduction"};
static constexpr StringLiteral ctcOptions[] = {"blank", "zero_infinity", "batch_first", "max_target", "reduction"};

ArrayRef<LossForm> training::lossForms() {
  static constexpr LossForm forms[] = {
      {"softmax_cross_entropy", "LOGITS", "LABELS", LossTarget::Labels, OwnActivation::OverClasses, entropyOptions,
       softmaxCrossEntropy},
      {"nll", "LOG_PROBABILITIES", "LABELS", LossTarget::Labels, OwnActivation::None, nllOptions, nll},
      {"mse", "PREDICTION", "TARGET", LossTarget::LikePrediction, OwnActivation::None, elementOptions, mse},
      {"l1", "PREDICTION", "TARGET", LossTarget::LikePrediction, OwnActivation::None, elementOptions, l1},
      {"smooth_l1", "PREDICTION", "TARGET", LossTarget::LikePrediction, OwnActivation::None, elementOptions, smoothL1},
      {"bce_with_logits", "LOGITS", "TARGET", LossTarget::LikePrediction, OwnActivation::PerElement, bceOptions,
       bceWithLogits},
      {"ctc", "LOGITS", "TARGETS:INPUT_LENGTHS:TARGET_LENGTHS", LossTarget::Sequences, OwnActivation::OverClasses,
       ctcOptions, nullptr},
  };
  return forms;
}

//===-- Names -------------------------------------------------------------------===//

static bool isScalarFloat(Value v) { return typeOf(v).getNumElements() == 1 && isFloat(v); }

static std::string outputNames(const EntryBuilder &entry) {
  return llvm::join(llvm::map_range(entry.outputs(), [](const auto &output) { return "'" + output.first + "'"; }),
                    ", ");
}

static LogicalResult noOutput(Location loc, StringRef name, StringRef outputs) {
  return emitErrorWithHint(loc, "the network has no output '" + name + "'", "its outputs are " + outputs);
}
static LogicalResult noOutput(const EntryBuilder &entry, StringRef name) {
  return noOutput(entry.loc, name, outputNames(entry));
}

std::pair<StringRef, StringRef> training::splitNames(StringRef names, function_ref<bool(StringRef)> exists) {
  for (size_t at = names.find(':'); at != StringRef::npos; at = names.find(':', at + 1))
    if (exists(names.take_front(at)) && at + 1 < names.size())
      return {names.take_front(at), names.drop_front(at + 1)};
  return names.split(':');
}
static LogicalResult noTarget(Location loc, StringRef text, const LossForm &form) {
  return emitErrorWithHint(loc, "loss '" + text + "' names no target",
                           Twine("write ") + form.name + ":" + form.prediction + ":" + form.target);
}

LossNames training::lossNames(const EntryBuilder &entry, StringRef text) {
  if (text.empty() || text.starts_with("output:"))
    return {};
  FailureOr<LossSpec> spec = parseLossSpec(entry.loc, text);
  if (failed(spec))
    return {};
  auto [name, target] = splitNames(spec->names, [&](StringRef name) { return bool(entry.output(name)); });
  return {name.str(), target.str(), spec->axis};
}

/// Returns the network's outputs that may be its own loss: none where no output is certain to be one number for the
/// whole batch, else every output of one number.
static SmallVector<std::string> ownLosses(EntryBuilder &entry) {
  SmallVector<std::string> names;
  bool any = false;
  for (const auto &[name, value] : entry.outputs()) {
    if (!isScalarFloat(value))
      continue;
    // A tensor of one element may hold the number of the only sample of a batch of one.
    int64_t rank = typeOf(value).getRank();
    any |= rank == 0 || (rank == 1 && entry.batchSize() != 1);
    if (entry.batchSize() != 1 || !entry.countsSamples(value))
      names.push_back(name);
  }
  return any ? names : SmallVector<std::string>();
}

/// Reports that one of several outputs would have to be guessed.
static LogicalResult severalLosses(Location loc, ArrayRef<std::string> names) {
  std::string list = llvm::join(llvm::map_range(names, [](const std::string &name) { return "'" + name + "'"; }), ", ");
  return emitErrorWithHint(
      loc, "any of " + Twine(names.size()) + " outputs may be the loss, since each is one number: " + list,
      "say which is trained: --loss=output:" + names[0] + "; to train several, give each an optimizer and its " +
          "parameters: --step=first:loss=output:" + names[0] + ":params=REGEX --step=second:loss=output:" + names[1] +
          ":params=REGEX; to train their sum, make it an output");
}

std::string training::lossOutput(EntryBuilder &entry, StringRef spec) {
  if (spec.consume_front("output:"))
    return spec.str();
  SmallVector<std::string> own;
  if (spec.empty())
    own = ownLosses(entry);
  return own.size() == 1 ? own[0] : "";
}

/// Returns the prediction for a loss that has an activation of its own: the operand of the network's own activation. A
/// softmax over other dimensions than the classes is another function, and stays.
static Value scoresOf(EntryBuilder &entry, const LossSpec &spec, StringRef target, Value v) {
  auto probabilities = stripViews(v).getDefiningOp<ProbabilityOpInterface>();
  if (!probabilities || shapeOf(v) != shapeOf(probabilities->getResult(0)))
    return v;
  std::optional<int64_t> axis = probabilities.getClassAxis();
  if (axis && !areClasses(entry, spec, target, shapeOf(v), *axis))
    return v;
  OwnActivation activation = axis ? OwnActivation::OverClasses : OwnActivation::PerElement;
  return activation == spec.form->activation ? probabilities->getOperand(0) : v;
}

//===-- Attaching ---------------------------------------------------------------===//

/// Takes the network's own output as the loss.
static FailureOr<Value> ownLoss(EntryBuilder &entry, Location loc, StringRef name) {
  Value v = entry.output(name);
  if (!v)
    return noOutput(entry, name);
  if (!isScalarFloat(v))
    return emitErrorWithHint(entry.loc, "output '" + name + "' is not a scalar float",
                             "a loss is one number: take its mean");
  OpBuilder &b = entry.builder;
  return reshapeTo(b, loc, castTo(b, loc, v, b.getF32Type()), {});
}

/// torch spreads these weights like any operand of an element-wise op, along the last dimension.
static LogicalResult checkPosWeight(const EntryBuilder &entry, const Prediction &prediction, const LossSpec &spec) {
  ArrayRef<int64_t> shape = shapeOf(prediction.value);
  const size_t count = spec.posWeight.size();
  if (count <= 1 || (!shape.empty() && shape.back() == int64_t(count)))
    return success();
  std::string extents;
  llvm::raw_string_ostream os(extents);
  llvm::interleave(shape, os << '[', ",");
  os << ']';
  return emitErrorWithHint(entry.loc,
                           "pos_weight has " + Twine(count) + " numbers, but '" + prediction.name + "' " + extents +
                               " has another last dimension",
                           "give one number, or one for each element of the last dimension");
}

/// Builds the loss of a prediction in fp32.
static FailureOr<Value> buildLoss(EntryBuilder &entry, Location loc, const Prediction &prediction, StringRef target,
                                  const LossSpec &spec, bool differentiated) {
  GraphBuilder b(entry.builder, loc);
  if (spec.form->kind == LossTarget::Sequences)
    return ctcLoss(entry, loc, prediction, target, spec, differentiated);
  if (spec.form->kind == LossTarget::LikePrediction) {
    if (failed(checkPosWeight(entry, prediction, spec)))
      return failure();
    FailureOr<Value> t = targetFor(entry, target, prediction);
    return failed(t) ? FailureOr<Value>() : spec.form->build(b, prediction.value, *t, spec);
  }
  FailureOr<Labelled> labelled = labelsFor(entry, target, prediction, spec);
  if (failed(labelled))
    return failure();
  if (spec.probabilities)
    return crossEntropyOfProbabilities(b, labelled->scores, labelled->labels, labelled->axis, classWeights(b, spec),
                                       spec.reduction, spec.labelSmoothing);
  return spec.form->build(b, labelled->scores, labelled->labels, spec);
}

FailureOr<Value> training::attachLoss(EntryBuilder &entry, StringRef text, bool differentiated) {
  OpBuilder &b = entry.builder;
  Location loc = NameLoc::get(b.getStringAttr("loss"));
  if (std::string own = lossOutput(entry, text); !own.empty()) {
    if (text.empty())
      entry.assume("--loss=output:" + own + ": the network's only number");
    return ownLoss(entry, loc, own);
  }
  if (text.empty()) {
    if (SmallVector<std::string> own = ownLosses(entry); own.size() > 1)
      return severalLosses(entry.loc, own);
    FailureOr<InferredLoss> inferred = inferLoss(entry);
    if (failed(inferred))
      return failure();
    return buildLoss(entry, loc, inferred->prediction, inferred->labels, inferred->spec, differentiated);
  }

  FailureOr<LossSpec> spec = parseLossSpec(entry.loc, text);
  if (failed(spec))
    return failure();
  auto [name, target] = splitNames(spec->names, [&](StringRef name) { return bool(entry.output(name)); });
  if (target.empty())
    return noTarget(entry.loc, text, *spec->form);
  Value v = entry.output(name);
  if (!v)
    return noOutput(entry, name);
  if (!isFloat(v))
    return emitErrorWithHint(entry.loc, "output '" + name + "' is not a float tensor",
                             "a loss compares float predictions with a target");
  Value scores = scoresOf(entry, *spec, target, v);
  if (scores != v)
    entry.assume("--loss=" + text.str() + ": takes the input of the " + onnxName(stripViews(v).getDefiningOp()) +
                 " that makes '" + name.str() + "', for it has one of its own");
  return buildLoss(entry, loc, {name.str(), castTo(b, loc, scores, b.getF32Type())}, target, *spec, differentiated);
}

namespace {
/// A loss of sequences, its prediction and the names of its inputs.
struct SequenceLoss {
  LossSpec spec;
  Prediction prediction;
  std::string names;
};
} // namespace

static std::optional<SequenceLoss> sequenceLoss(EntryBuilder &entry, StringRef text) {
  if (text.empty() || text.starts_with("output:"))
    return std::nullopt;
  FailureOr<LossSpec> spec = parseLossSpec(entry.loc, text);
  if (failed(spec) || spec->form->kind != LossTarget::Sequences)
    return std::nullopt;
  auto [name, target] = splitNames(spec->names, [&](StringRef name) { return bool(entry.output(name)); });
  Value scores = castTo(entry.builder, entry.loc, entry.output(name), entry.builder.getF32Type());
  return SequenceLoss{*spec, {name.str(), scores}, target.str()};
}

void training::addLossOutputs(EntryBuilder &entry, StringRef text,
                              SmallVectorImpl<std::pair<std::string, Value>> &outputs) {
  if (std::optional<SequenceLoss> loss = sequenceLoss(entry, text))
    addDecoded(entry, loss->prediction, loss->names, loss->spec, outputs);
}

std::optional<LossSequences> training::lossSequences(EntryBuilder &entry, StringRef text) {
  std::optional<SequenceLoss> loss = sequenceLoss(entry, text);
  if (!loss)
    return std::nullopt;
  FailureOr<Value> frames = ctcDecisions(entry, loss->prediction, loss->names, loss->spec);
  if (failed(frames))
    return std::nullopt;
  return LossSequences{*frames, loss->prediction.name, StringRef(loss->names).split(':').first.str()};
}

std::optional<LossProbabilities> training::lossProbabilities(EntryBuilder &entry, StringRef text) {
  if (text.empty() || text.starts_with("output:"))
    return std::nullopt;
  FailureOr<LossSpec> spec = parseLossSpec(entry.loc, text);
  if (failed(spec) || !spec->probabilities)
    return std::nullopt;
  auto [name, target] = splitNames(spec->names, [&](StringRef name) { return bool(entry.output(name)); });
  Value scores = scoresOf(entry, *spec, target, entry.output(name));
  return LossProbabilities{scores, target.str(), classAxis(*spec, typeOf(scores).getRank())};
}

LogicalResult training::checkLossNames(Location loc, StringRef text, ArrayRef<StatedOutput> outputs) {
  SmallVector<std::string> names;
  for (const StatedOutput &output : outputs)
    names.push_back(output.name);
  auto exists = [&](StringRef name) { return llvm::is_contained(names, name); };
  std::string list = llvm::join(llvm::map_range(names, [](const std::string &name) { return "'" + name + "'"; }), ", ");
  if (StringRef own = text; own.consume_front("output:"))
    return exists(own) ? success() : noOutput(loc, own, list);
  if (!text.empty()) {
    FailureOr<LossSpec> spec = parseLossSpec(loc, text);
    if (failed(spec))
      return failure();
    auto [name, target] = splitNames(spec->names, exists);
    if (target.empty())
      return noTarget(loc, text, *spec->form);
    return exists(name) ? success() : noOutput(loc, name, list);
  }
  SmallVector<const StatedOutput *> floats;
  for (const StatedOutput &output : outputs)
    if (output.isFloat)
      floats.push_back(&output);
  SmallVector<std::string> numbers;
  for (const StatedOutput *output : floats)
    if (output->shape && output->shape->empty())
      numbers.push_back(output->name);
  if (numbers.size() > 1)
    return severalLosses(loc, numbers);
  // Such an output may be the loss itself: no dimension is known to be more than 1.
  if (llvm::any_of(floats, [](const StatedOutput *output) {
        return !output->shape || llvm::none_of(*output->shape, [](int64_t d) { return d > 1; });
      }))
    return success();
  if (floats.size() != 1)
    return lossIsNotInferred(loc, names, Twine(floats.size()) + " outputs are float tensors, and one is needed");
  if (size_t rank = floats[0]->shape->size(); rank != 2 && rank != 3)
    return lossIsNotInferred(loc, names,
                             "output '" + floats[0]->name + "' is of rank " + Twine(rank) +
                                 ", and scores of classes are of rank 2 or 3");
  return success();
}
