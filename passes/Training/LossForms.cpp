#include "passes/Training/LossForms.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

//===-- The forms ---------------------------------------------------------------===//

/// Mean over all elements.
static Value mean(OpBuilder &b, Location loc, Value x) {
  Shape axes = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
  return ReduceMeanOp::create(b, loc, x, axes, /*keepdims=*/false);
}

static Value softmaxCrossEntropy(OpBuilder &b, Location loc, Value logits, Value labels) {
  return SoftmaxCrossEntropyOp::create(b, loc, logits, labels, Value(), LossReduction::mean, IntegerAttr());
}
static Value nll(OpBuilder &b, Location loc, Value logProbabilities, Value labels) {
  return NllLossOp::create(b, loc, logProbabilities, labels, Value(), LossReduction::mean, IntegerAttr());
}
/// (p - t)^2
static Value mse(OpBuilder &b, Location loc, Value p, Value t) {
  Value d = SubOp::create(b, loc, p, t);
  return mean(b, loc, MulOp::create(b, loc, d, d));
}
/// |p - t|
static Value l1(OpBuilder &b, Location loc, Value p, Value t) {
  return mean(b, loc, AbsOp::create(b, loc, SubOp::create(b, loc, p, t)));
}
/// a^2/2 where a = |p - t| < 1, a - 1/2 elsewhere (torch smooth_l1_loss, beta = 1): with c = min(a, 1) it is
/// c*(a - c/2).
static Value smoothL1(OpBuilder &b, Location loc, Value p, Value t) {
  Value a = AbsOp::create(b, loc, SubOp::create(b, loc, p, t));
  Value c = ClipOp::create(b, loc, a.getType(), a, b.getF64FloatAttr(0), b.getF64FloatAttr(1));
  Value half = MulOp::create(b, loc, c, scalar(b, loc, elementOf(c), 0.5));
  return mean(b, loc, MulOp::create(b, loc, c, SubOp::create(b, loc, a, half)));
}
/// (1 - t)*x + log(1 + e^-x) (torch binary_cross_entropy_with_logits)
static Value bceWithLogits(OpBuilder &b, Location loc, Value x, Value t) {
  Value rest = SubOp::create(b, loc, scalar(b, loc, elementOf(t), 1), t);
  Value soft = SoftplusOp::create(b, loc, NegOp::create(b, loc, x));
  return mean(b, loc, AddOp::create(b, loc, MulOp::create(b, loc, rest, x), soft));
}

namespace {
struct LossForm {
  StringLiteral name;
  /// Whether the target is integer labels [N, d...] of scores [N, C, d...], and not a tensor like the
  /// prediction.
  bool labels;
  /// The scalar loss of an fp32 prediction.
  Value (*build)(OpBuilder &, Location, Value prediction, Value target);
};
} // namespace

static constexpr LossForm forms[] = {
    {"softmax_cross_entropy", true, softmaxCrossEntropy},
    {"nll", true, nll},
    {"mse", false, mse},
    {"l1", false, l1},
    {"smooth_l1", false, smoothL1},
    {"bce_with_logits", false, bceWithLogits},
};

//===-- Names -------------------------------------------------------------------===//

static bool isScalarFloat(Value v) { return typeOf(v).getNumElements() == 1 && isFloat(v); }

static std::string outputNames(const EntryBuilder &entry) {
  return llvm::join(
      llvm::map_range(entry.outputs(), [](const auto &output) { return "'" + output.first + "'"; }), ", ");
}

static LogicalResult noOutput(const EntryBuilder &entry, StringRef name) {
  return emitErrorWithHint(entry.loc, "the network has no output '" + name + "'",
                           "its outputs are " + outputNames(entry));
}

std::string training::lossOutput(const EntryBuilder &entry, StringRef spec) {
  if (spec.consume_front("output:"))
    return spec.str();
  if (spec.empty())
    for (const auto &[name, value] : entry.outputs())
      if (isScalarFloat(value))
        return name;
  return "";
}

//===-- Targets -----------------------------------------------------------------===//

/// The labels of fp32 `scores` [N, C, d...]: a data input of this name with shape [N, d...].
static FailureOr<Value> labelsFor(EntryBuilder &entry, StringRef name, Value scores) {
  RankedTensorType type = typeOf(scores);
  if (type.getRank() < 2)
    return emitErrorWithHint(
        entry.loc,
        "scores of classes are [N, C, ...], but the prediction is [" +
            llvm::join(llvm::map_range(type.getShape(), [](int64_t d) { return std::to_string(d); }), ", ") +
            "]",
        "name the output with the scores, or use mse, l1, smooth_l1 or bce_with_logits");
  Shape shape(type.getShape());
  shape.erase(shape.begin() + 1);
  OpBuilder &b = entry.builder;
  Value labels = entry.argument(name);
  if (!labels) {
    bool batched = entry.batchSize() == shape[0];
    labels = entry.addArgument(name, RankedTensorType::get(shape, b.getI64Type()), batched);
  }
  if (!isa<IntegerType>(elementOf(labels)) || shapeOf(labels) != ArrayRef<int64_t>(shape)) {
    std::string wanted;
    llvm::raw_string_ostream(wanted) << RankedTensorType::get(shape, b.getI64Type());
    std::string found;
    llvm::raw_string_ostream(found) << labels.getType();
    return emitErrorWithHint(entry.loc,
                             "input '" + name + "' is " + found + ", but the labels should be " + wanted,
                             "name another input; a name that is not taken adds one");
  }
  entry.boundLabels(labels, type.getDimSize(1));
  Type element = elementOf(labels);
  return element.isInteger(32) || element.isInteger(64) ? labels
                                                        : castTo(b, entry.loc, labels, b.getI64Type());
}

/// The target of an fp32 `prediction`: a data input of this name with its shape, as fp32.
static FailureOr<Value> targetFor(EntryBuilder &entry, StringRef name, Value prediction) {
  RankedTensorType type = typeOf(prediction);
  Value target = entry.argument(name);
  if (!target)
    target = entry.addArgument(name, type, type.getRank() > 0 && entry.batchSize() == type.getDimSize(0));
  if (shapeOf(target) != type.getShape()) {
    std::string wanted, found;
    llvm::raw_string_ostream(wanted) << type;
    llvm::raw_string_ostream(found) << target.getType();
    return emitErrorWithHint(entry.loc,
                             "input '" + name + "' is " + found + ", but the target should be " + wanted,
                             "name another input; a name that is not taken adds one");
  }
  return castTo(entry.builder, entry.loc, target, entry.builder.getF32Type());
}

//===-- Attaching ---------------------------------------------------------------===//

FailureOr<Value> training::attachLoss(EntryBuilder &entry, StringRef spec) {
  OpBuilder &b = entry.builder;
  Location loc = NameLoc::get(b.getStringAttr("loss"));
  if (spec.empty() || spec.starts_with("output:")) {
    std::string name = lossOutput(entry, spec);
    if (name.empty())
      return emitErrorWithHint(
          entry.loc, "the network has no scalar float output that could be the loss",
          "attach one, for instance --loss=softmax_cross_entropy:LOGITS:labels; the outputs are " +
              outputNames(entry));
    Value v = entry.output(name);
    if (!v)
      return noOutput(entry, name);
    if (!isScalarFloat(v))
      return emitErrorWithHint(entry.loc, "output '" + name + "' is not a scalar float",
                               "a loss is one number: take its mean");
    return reshapeTo(b, loc, castTo(b, loc, v, b.getF32Type()), {});
  }

  auto [formName, names] = spec.split(':');
  const LossForm *form = llvm::find_if(forms, [&](const LossForm &f) { return f.name == formName; });
  if (form == std::end(forms)) {
    std::string known = "output";
    for (const LossForm &f : forms)
      known += ", " + f.name.str();
    return emitErrorWithHint(entry.loc, "there is no loss '" + formName + "'", "the losses are " + known);
  }
  // Names may hold colons themselves (`logits:0`): the prediction is the shortest one that exists.
  for (size_t at = names.find(':'); at != StringRef::npos; at = names.find(':', at + 1)) {
    Value v = entry.output(names.take_front(at));
    StringRef target = names.drop_front(at + 1);
    if (!v || target.empty())
      continue;
    if (!isFloat(v))
      return emitErrorWithHint(entry.loc, "output '" + names.take_front(at) + "' is not a float tensor",
                               "a loss compares float predictions with a target");
    Value prediction = castTo(b, loc, v, b.getF32Type());
    FailureOr<Value> t =
        form->labels ? labelsFor(entry, target, prediction) : targetFor(entry, target, prediction);
    if (failed(t))
      return failure();
    return form->build(b, loc, prediction, *t);
  }
  auto [prediction, target] = names.split(':');
  if (target.empty())
    return emitErrorWithHint(entry.loc, "loss '" + spec + "' names no target",
                             "write " + formName + (form->labels ? ":LOGITS:LABELS" : ":PREDICTION:TARGET"));
  return noOutput(entry, prediction);
}
