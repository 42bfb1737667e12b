// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/LossTargets.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Ranges.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

std::string training::shapeText(ArrayRef<int64_t> shape) {
  std::string written;
  llvm::raw_string_ostream os(written);
  llvm::interleave(shape, os << '[', ",");
  os << ']';
  return written;
}
static std::string text(Type type) {
  std::string written;
  llvm::raw_string_ostream(written) << type;
  return written;
}

static Shape without(ArrayRef<int64_t> shape, int64_t axis) {
  Shape rest(shape);
  rest.erase(rest.begin() + axis);
  return rest;
}

int64_t training::classAxis(const LossSpec &spec, int64_t rank) {
  int64_t axis = spec.axis.value_or(rank == 3 ? 2 : 1);
  return axis < 0 ? axis + rank : axis;
}

/// Returns whether labels (null if there are none) are the scores' shape without this dimension.
static bool fits(Value labels, ArrayRef<int64_t> shape, int64_t axis) {
  return labels && shapeOf(labels) == ArrayRef<int64_t>(without(shape, axis));
}

bool training::areClasses(EntryBuilder &entry, const LossSpec &spec, StringRef target, ArrayRef<int64_t> shape,
                          int64_t axis) {
  const int64_t rank = int64_t(shape.size());
  if (spec.form->kind == LossTarget::Sequences)
    return axis == rank - 1;
  Value labels = spec.axis || rank < 3 || spec.probabilities ? Value() : entry.argument(target);
  bool fitted = false;
  for (int64_t candidate : {int64_t(1), rank - 1})
    if (fits(labels, shape, candidate)) {
      fitted = true;
      if (axis == candidate)
        return true;
    }
  return !fitted && axis == classAxis(spec, rank);
}

//===-- Labels ----------------------------------------------------------------------===//

namespace {
/// Finds the labels of scores from what the user said about them.
class LabelFinder {
public:
  LabelFinder(EntryBuilder &entry, StringRef name, const Prediction &prediction, const LossSpec &spec)
      : entry(entry), name(name), prediction(prediction), spec(spec), shape(shapeOf(prediction.value)),
        rank(int64_t(shape.size())), labels(entry.argument(name)) {}

  FailureOr<Labelled> find();

private:
  LogicalResult chooseAxis();
  LogicalResult checkLabels();
  FailureOr<Value> probabilities();
  void note();
  Labelled columns(Value labels);

  std::string scores() const { return "'" + prediction.name + "' " + shapeText(shape); }
  /// Returns the loss as the user would write it with this axis.
  std::string written(int64_t atAxis) const {
    return (Twine("--loss=") + spec.form->name + ":" + prediction.name + ":" + name + ",axis=" + Twine(atAxis)).str();
  }
  bool fits(int64_t atAxis) const { return ::fits(labels, shape, atAxis); }

  EntryBuilder &entry;
  StringRef name;
  const Prediction &prediction;
  const LossSpec &spec;
  ArrayRef<int64_t> shape;
  int64_t rank, axis = 1;
  Value labels; // null if the network has no input of this name
};
} // namespace

LogicalResult LabelFinder::chooseAxis() {
  if (rank < 2)
    return emitErrorWithHint(entry.loc, "scores of classes are [N, C, ...], but the prediction " + scores() + " is not",
                             "name the output with the scores, or use mse, l1, smooth_l1 or bce_with_logits");
  axis = classAxis(spec, rank);
  if (spec.axis) {
    if (axis >= 1 && axis < rank)
      return success();
    return emitErrorWithHint(
        entry.loc, "axis=" + Twine(*spec.axis) + " is no dimension of classes of " + scores(),
        (rank == 2 ? Twine("leave it out: dimension 1 is the only one")
                   : "write a number from 1 to " + Twine(rank - 1) + ", or from the end, -1 to " + Twine(1 - rank)) +
            "; dimension 0 counts the samples");
  }
  if (rank == 2 || !labels)
    return success();
  if (fits(1) && fits(rank - 1))
    return emitErrorWithHint(entry.loc,
                             "the labels '" + name + "' " + shapeText(shapeOf(labels)) + " fit the classes of " +
                                 scores() + " along dimension 1 and along dimension " + Twine(rank - 1),
                             "say which: " + written(1) + " or " + written(rank - 1));
  for (int64_t candidate : {int64_t(1), rank - 1})
    if (fits(candidate))
      axis = candidate;
  return success();
}

/// Checks the network's own input that is taken as labels.
LogicalResult LabelFinder::checkLabels() {
  if (isa<IntegerType>(elementOf(labels)) && fits(axis))
    return success();
  std::string hint = "name another input; a name that is not taken adds one";
  if (!isa<IntegerType>(elementOf(labels)))
    hint = "labels are integers; for float targets use mse or bce_with_logits, or " + hint;
  for (int64_t other = 1; other < rank; ++other)
    if (other != axis && fits(other) && isa<IntegerType>(elementOf(labels)))
      hint = "the labels fit " + written(other);
  auto wanted = RankedTensorType::get(without(shape, axis), entry.builder.getI64Type());
  return emitErrorWithHint(entry.loc,
                           "input '" + name + "' is " + text(labels.getType()) + ", but the labels of " + scores() +
                               " with its classes along dimension " + Twine(axis) + " should be " + text(wanted),
                           hint);
}

/// Returns the fp32 probabilities of the classes, and makes `labels` their input.
FailureOr<Value> LabelFinder::probabilities() {
  if (labels && !isFloat(labels))
    return emitErrorWithHint(entry.loc,
                             "input '" + name + "' is " + text(labels.getType()) +
                                 ", but labels that are probabilities are floats",
                             "leave probabilities out, or name another input; a name that is not taken adds one");
  FailureOr<Value> target = targetFor(entry, name, prediction);
  labels = entry.argument(name);
  return target;
}

/// Notes what was chosen where the user has not said it.
void LabelFinder::note() {
  bool chose = rank > 2 && !spec.axis;
  if (spec.assumed.empty() && !chose)
    return;
  std::string line = spec.assumed.empty() ? written(axis) : spec.assumed;
  line += ": the classes are dimension " + std::to_string(axis) + " of " + scores() + ", the labels '" + name.str() +
          "' are " + shapeText(spec.probabilities ? shape : ArrayRef<int64_t>(without(shape, axis)));
  entry.assume(line);
}

/// Returns scores and labels with the classes at dimension 1. They stay as they are, or
/// become a row for each label, which costs nothing where the classes lie at the end.
Labelled LabelFinder::columns(Value integers) {
  Value scores = prediction.value;
  if (axis == 1)
    return {scores, integers};
  OpBuilder &b = entry.builder;
  if (axis != rank - 1) {
    Shape order = without(llvm::to_vector(llvm::seq<int64_t>(0, rank)), axis);
    order.push_back(axis);
    scores = TransposeOp::create(b, entry.loc, scores, order);
  }
  int64_t rows = typeOf(integers).getNumElements();
  return {reshapeTo(b, entry.loc, scores, {rows, shape[axis]}), reshapeTo(b, entry.loc, integers, {rows})};
}

FailureOr<Labelled> LabelFinder::find() {
  if (failed(chooseAxis()))
    return failure();
  OpBuilder &b = entry.builder;
  if (!labels) {
    for (const auto &[output, value] : entry.outputs())
      if (output == name)
        return emitErrorWithHint(entry.loc, "labels '" + name + "' are an output of the network",
                                 "name an input, or a new one for the labels: labels");
    bool batched = entry.batchSize() == shape[0];
    if (!spec.probabilities)
      labels = entry.addArgument(name, RankedTensorType::get(without(shape, axis), b.getI64Type()), batched);
  } else if (!spec.probabilities && failed(checkLabels())) {
    return failure();
  }
  if (int64_t classes = shape[axis]; !spec.weight.empty() && int64_t(spec.weight.size()) != classes)
    return emitErrorWithHint(entry.loc,
                             "weight has " + Twine(spec.weight.size()) + " numbers, but " + scores() + " has " +
                                 Twine(classes) + " classes along dimension " + Twine(axis),
                             "give a weight for each class");
  FailureOr<Value> target = spec.probabilities ? probabilities() : FailureOr<Value>(labels);
  if (failed(target))
    return failure();
  note();
  entry.boundLabels(labels, shape[axis], spec.ignoreIndex);
  entry.describeLabels(labels, {prediction.name, Shape(shape), axis, !spec.assumed.empty()});
  if (spec.probabilities)
    return Labelled{prediction.value, *target, axis};
  Type element = elementOf(labels);
  bool wide = element.isInteger(32) || element.isInteger(64);
  return columns(wide ? labels : castTo(b, entry.loc, labels, b.getI64Type()));
}

FailureOr<Labelled> training::labelsFor(EntryBuilder &entry, StringRef name, const Prediction &prediction,
                                        const LossSpec &spec) {
  return LabelFinder(entry, name, prediction, spec).find();
}

//===-- Targets like the prediction ----------------------------------------------------===//

FailureOr<Value> training::targetFor(EntryBuilder &entry, StringRef name, const Prediction &prediction) {
  RankedTensorType type = typeOf(prediction.value);
  Value target = entry.argument(name);
  if (!target)
    target = entry.addArgument(name, type, type.getRank() > 0 && entry.batchSize() == type.getDimSize(0));
  if (shapeOf(target) != type.getShape())
    return emitErrorWithHint(
        entry.loc, "input '" + name + "' is " + text(target.getType()) + ", but the target should be " + text(type),
        "name another input; a name that is not taken adds one");
  return castTo(entry.builder, entry.loc, target, entry.builder.getF32Type());
}
