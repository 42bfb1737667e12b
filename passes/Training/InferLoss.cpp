// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/InferLoss.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

LogicalResult training::lossIsNotInferred(Location loc, ArrayRef<std::string> outputs, const Twine &why) {
  std::string names =
      llvm::join(llvm::map_range(outputs, [](const std::string &name) { return "'" + name + "'"; }), ", ");
  return emitErrorWithHint(
      loc, "the network has no scalar float output that could be the loss, and none can be inferred: " + why,
      "say what is trained: --loss=" + nameLosses() + "; the outputs are " + names);
}
static LogicalResult notInferred(const EntryBuilder &entry, const Twine &why) {
  SmallVector<std::string> names;
  for (const auto &[name, value] : entry.outputs())
    names.push_back(name);
  return lossIsNotInferred(entry.loc, names, why);
}

std::string training::onnxName(Operation *activation) {
  return llvm::convertToCamelFromSnakeCase(activation->getName().stripDialect(), /*capitalizeFirst=*/true);
}

/// Returns the ONNX name of an activation whose results are no scores, or "" for other values.
static std::string activationOf(Value v) {
  Operation *op = stripViews(v).getDefiningOp();
  return isa_and_nonnull<ClipOp, SigmoidOp, TanhOp, ReluOp>(op) ? onnxName(op) : "";
}

/// An integer input of a usual name that the network has but does not use is meant for the loss; otherwise a new input
/// gets the first of those names that is free.
static std::string labelsName(EntryBuilder &entry) {
  StringRef usual[] = {"labels", "label", "targets", "target"};
  for (StringRef name : usual)
    if (Value input = entry.argument(name); input && input.use_empty() && isa<IntegerType>(elementOf(input)))
      return name.str();
  for (StringRef name : usual)
    if (!entry.argument(name))
      return name.str();
  return "loss.labels";
}

FailureOr<InferredLoss> training::inferLoss(EntryBuilder &entry) {
  SmallVector<std::pair<std::string, Value>> floats;
  for (const auto &[name, value] : entry.outputs())
    if (isFloat(value))
      floats.emplace_back(name, value);
  if (floats.size() != 1)
    return notInferred(entry, Twine(floats.size()) + " outputs are float tensors, and one is needed");
  auto [name, value] = floats.front();
  std::string output = "output '" + name + "'";
  int64_t rank = typeOf(value).getRank();
  if (rank != 2 && rank != 3)
    return notInferred(entry, output + " is of rank " + Twine(rank) + ", and scores of classes are of rank 2 or 3");
  if (entry.batchSize() != shapeOf(value)[0])
    return notInferred(entry, "the leading dimension of " + output + " does not count the samples of the batch");
  if (std::string activation = activationOf(value); !activation.empty())
    return notInferred(entry, output + " is made by " + activation + ", so it is no score of a class");

  InferredLoss inferred;
  inferred.labels = labelsName(entry);
  LossSpec &spec = inferred.spec;
  spec.form = llvm::find_if(lossForms(), [](const LossForm &form) { return form.name == "softmax_cross_entropy"; });
  spec.assumed =
      "--loss=softmax_cross_entropy:" + name + ":" + inferred.labels + ": the only float output is taken for scores";
  int64_t axis = rank - 1;
  Value scores = value;
  Value made = stripViews(value);
  while (auto turned = made.getDefiningOp<TransposeOp>())
    made = stripViews(turned.getX());
  auto probabilities = made.getDefiningOp<ProbabilityOpInterface>();
  if (probabilities && probabilities.getClassAxis()) {
    Operation *op = probabilities;
    if (made != stripViews(value) || shapeOf(op->getResult(0)) != shapeOf(value))
      return notInferred(entry, output + " is a softmax that was reshaped or transposed since");
    scores = op->getOperand(0);
    axis = *probabilities.getClassAxis();
    spec.axis = axis;
    spec.assumed = "--loss: softmax cross entropy on the input of the " + onnxName(op) + " that makes '" + name +
                   "', the only float output";
  }
  if (axis == 0 || shapeOf(value)[axis] < 2)
    return notInferred(entry,
                       output + " has " +
                           (axis == 0 ? Twine("its classes where the batch is") : Twine("fewer than two classes")));
  inferred.prediction = {name, castTo(entry.builder, entry.loc, scores, entry.builder.getF32Type())};
  return inferred;
}
