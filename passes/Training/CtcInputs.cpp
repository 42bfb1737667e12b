// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/CtcInputs.h"
#include "dialects/Graph/IR/GraphBuilder.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Training/CtcLoss.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

namespace {
/// Finds the operands of a CTC loss from what the user said about them.
class CtcFinder {
public:
  CtcFinder(EntryBuilder &entry, const Prediction &prediction, StringRef names, const LossSpec &spec)
      : entry(entry), prediction(prediction), spec(spec), shape(shapeOf(prediction.value)), names(names) {
    names.split(parts, ':');
  }

  FailureOr<CtcOperands> find(Location loc);

private:
  LogicalResult checkNames();
  LogicalResult findBatch();
  LogicalResult findLongest();
  FailureOr<Value> integers(StringRef name, StringRef what, ArrayRef<int64_t> extents);
  void note();

  std::string scores() const { return "'" + prediction.name + "' " + shapeText(shape); }
  std::string written() const { return "--loss=ctc:" + prediction.name + ":" + names.str(); }

  EntryBuilder &entry;
  const Prediction &prediction;
  const LossSpec &spec;
  ArrayRef<int64_t> shape;
  StringRef names;
  SmallVector<StringRef> parts; // targets, input lengths, target lengths
  bool batchFirst = false;
  int64_t samples = 0, frames = 0, classes = 0, longest = 0;
};
} // namespace

LogicalResult CtcFinder::checkNames() {
  StringRef hint = "write ctc:LOGITS:TARGETS:INPUT_LENGTHS:TARGET_LENGTHS; INPUT_LENGTHS may be empty, then every "
                   "sample has all frames";
  if (parts.size() != 3 || parts[0].empty() || parts[2].empty())
    return emitErrorWithHint(entry.loc, "loss 'ctc' does not find its three inputs in '" + names + "'", hint);
  if (parts[0] == parts[1] || parts[0] == parts[2] || parts[1] == parts[2])
    return emitErrorWithHint(entry.loc, "loss 'ctc' names one input twice in '" + names + "'", hint);
  return success();
}

/// Finds the dimension of the scores that counts the samples.
LogicalResult CtcFinder::findBatch() {
  if (shape.size() != 3)
    return emitErrorWithHint(entry.loc, "scores of a CTC loss are [T, N, C] or [N, T, C], but " + scores() + " is not",
                             "name the output with the scores of the frames");
  std::optional<int64_t> batch = entry.batchSize();
  bool first = batch == shape[0], second = batch == shape[1];
  if (!first && !second)
    return emitErrorWithHint(entry.loc,
                             "neither dimension 0 nor 1 of " + scores() + " counts " +
                                 (batch ? "the " + Twine(*batch) + " samples of a batch" : Twine("samples")),
                             "scores of a CTC loss are [T, N, C] or [N, T, C]: frames, samples, classes");
  if (spec.batchFirst) {
    batchFirst = *spec.batchFirst;
    if (!(batchFirst ? first : second))
      return emitErrorWithHint(entry.loc,
                               "batch_first=" + Twine(batchFirst ? "true" : "false") + ", but dimension " +
                                   Twine(batchFirst ? 0 : 1) + " of " + scores() + " does not count the " +
                                   Twine(*batch) + " samples",
                               "leave batch_first out: the other dimension does");
  } else if (first && second) {
    std::optional<int64_t> dim = entry.samplesDim(prediction.value);
    if (!dim || *dim > 1)
      return emitErrorWithHint(entry.loc, "dimensions 0 and 1 of " + scores() + " both have the extent of the batch",
                               "say which counts the samples: " + written() + ",batch_first=true or " + written() +
                                   ",batch_first=false; or compile with another --batch");
    batchFirst = *dim == 0;
  } else {
    batchFirst = first;
  }
  samples = *batch;
  frames = shape[batchFirst ? 1 : 0];
  classes = shape[2];
  if (spec.blank >= 0 && spec.blank < classes)
    return success();
  return emitErrorWithHint(entry.loc, "blank=" + Twine(spec.blank) + " is no class of " + scores(),
                           "write a number from 0 to " + Twine(classes - 1));
}

/// Finds the extent of the targets' second dimension.
LogicalResult CtcFinder::findLongest() {
  Value targets = entry.argument(parts[0]);
  if (targets && typeOf(targets).getRank() == 2)
    longest = shapeOf(targets)[1];
  else
    longest = spec.maxTarget.value_or(frames); // no path spells a longer target
  if (spec.maxTarget && *spec.maxTarget != longest)
    return emitErrorWithHint(entry.loc,
                             "max_target=" + Twine(*spec.maxTarget) + ", but input '" + parts[0] + "' is " +
                                 shapeText(shapeOf(targets)),
                             "leave max_target out: the network says it");
  return success();
}

/// Returns the data input of this name, in i64; adds it if the network has none.
FailureOr<Value> CtcFinder::integers(StringRef name, StringRef what, ArrayRef<int64_t> extents) {
  OpBuilder &b = entry.builder;
  auto wanted = RankedTensorType::get(extents, b.getI64Type());
  Value input = entry.argument(name);
  if (!input) {
    if (entry.output(name))
      return emitErrorWithHint(entry.loc, "the " + what + " '" + name + "' are an output of the network",
                               "name an input, or a new one");
    return entry.addArgument(name, wanted, /*batched=*/true);
  }
  if (!isa<IntegerType>(elementOf(input)) || shapeOf(input) != extents) {
    std::string type;
    llvm::raw_string_ostream(type) << input.getType();
    return emitErrorWithHint(entry.loc,
                             "input '" + name + "' is " + type + ", but the " + what + " of " + scores() +
                                 " should be integers " + shapeText(extents),
                             "name another input; a name that is not taken adds one");
  }
  return castTo(b, entry.loc, input, b.getI64Type());
}

/// Notes what was chosen where the user has not said it.
void CtcFinder::note() {
  std::string chosen;
  if (!spec.batchFirst)
    chosen += batchFirst ? ",batch_first=true" : ",batch_first=false";
  if (!spec.maxTarget && !entry.argument(parts[0]))
    chosen += ",max_target=" + std::to_string(longest);
  if (chosen.empty())
    return;
  entry.assume(written() + chosen + ": " + scores() + " has " + std::to_string(frames) + " frames of " +
               std::to_string(samples) + " samples, the targets '" + parts[0].str() + "' are " +
               shapeText({samples, longest}));
}

FailureOr<CtcOperands> CtcFinder::find(Location loc) {
  if (failed(checkNames()) || failed(findBatch()) || failed(findLongest()))
    return failure();
  note();
  FailureOr<Value> targets = integers(parts[0], "targets", {samples, longest});
  FailureOr<Value> inputLengths = parts[1].empty() ? Value() : integers(parts[1], "lengths of the frames", {samples});
  FailureOr<Value> targetLengths = integers(parts[2], "lengths of the targets", {samples});
  if (failed(targets) || failed(inputLengths) || failed(targetLengths))
    return failure();
  entry.boundLengths(entry.argument(parts[2]), longest);
  if (!parts[1].empty())
    entry.boundLengths(entry.argument(parts[1]), frames);
  entry.describeSequences(entry.argument(parts[0]),
                          {parts[2].str(), parts[1].str(), spec.blank, classes, frames, spec.zeroInfinity});
  Value scores = prediction.value;
  if (batchFirst)
    scores = TransposeOp::create(entry.builder, loc, scores, ArrayRef<int64_t>{1, 0, 2});
  return CtcOperands{scores, *targets, *inputLengths, *targetLengths};
}

FailureOr<Value> training::ctcLoss(EntryBuilder &entry, Location loc, const Prediction &prediction, StringRef names,
                                   const LossSpec &spec, bool differentiated) {
  FailureOr<CtcOperands> operands = CtcFinder(entry, prediction, names, spec).find(loc);
  if (failed(operands))
    return failure();
  GraphBuilder b(entry.builder, loc);
  Value losses = ctcLosses(b, *operands, spec.blank, spec.zeroInfinity, differentiated);
  if (spec.reduction == LossReduction::sum)
    return b.sum(losses, {0});
  // torch divides each loss by the target's length, and an empty target's by 1.
  Value lengths = b.cast(b.max(operands->targetLengths, 1.0), b.builder.getF32Type());
  return Value(b.create<ReduceMeanOp>(b.div(losses, lengths), ArrayRef<int64_t>{0}, /*keepdims=*/false));
}

void training::addDecoded(EntryBuilder &entry, const Prediction &prediction, StringRef names, const LossSpec &spec,
                          SmallVectorImpl<std::pair<std::string, Value>> &outputs) {
  FailureOr<CtcOperands> operands = CtcFinder(entry, prediction, names, spec).find(entry.loc);
  if (failed(operands))
    return;
  CtcSequences sequences = ctcDecoded(GraphBuilder(entry.builder, entry.loc), *operands, spec.blank);
  std::string name = "decoded";
  while (entry.output(name) || entry.output(name + "_length"))
    name += "_";
  outputs.emplace_back(name, sequences.labels);
  outputs.emplace_back(name + "_length", sequences.lengths);
}

FailureOr<Value> training::ctcDecisions(EntryBuilder &entry, const Prediction &prediction, StringRef names,
                                        const LossSpec &spec) {
  FailureOr<CtcOperands> operands = CtcFinder(entry, prediction, names, spec).find(entry.loc);
  if (failed(operands))
    return failure();
  auto [targets, lengths] = names.split(':');
  entry.keepArgument(entry.argument(targets));
  entry.keepArgument(entry.argument(lengths.split(':').second));
  return ctcFrames(GraphBuilder(entry.builder, entry.loc), *operands, spec.blank);
}
