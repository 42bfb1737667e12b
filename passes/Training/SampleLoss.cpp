// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/SampleLoss.h"
#include "dialects/Graph/IR/Losses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

namespace {
/// A loss tree reduces everything to one element: classification scores, or element losses.
struct LossTree {
  ClassificationLossOpInterface classifier;
  Value elements; // what graph.reduce_mean or reduce_sum reduces; null if the classifier itself does
  Value weights;  // the weights of a weighted mean, sum(elements) / sum(weights); null where each element counts once
  LossReduction reduction = LossReduction::none;
};
} // namespace

/// Collects the classification losses among the terms and factors that make each element of x.
static void collectClassifiers(Value x, llvm::SmallSetVector<Operation *, 2> &found,
                               llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = stripViews(x).getDefiningOp();
  if (!op || !seen.insert(op).second)
    return;
  if (isa<ClassificationLossOpInterface>(op))
    found.insert(op);
  else if (isOfKind(op, LoopKind::Elementwise))
    for (Value operand : op->getOperands())
      collectClassifiers(operand, found, seen);
}

/// Returns the operand of a sum over all its elements, or null if x is no such sum.
static Value summed(Value x) {
  auto sum = stripViews(x).getDefiningOp<ReduceSumOp>();
  return sum && typeOf(sum).getNumElements() == 1 ? sum.getX() : Value();
}

static LossTree parseLoss(Value loss) {
  LossTree tree;
  Operation *op = stripViews(loss).getDefiningOp();
  if (auto classifier = dyn_cast_or_null<ClassificationLossOpInterface>(op);
      classifier && classifier.getReduction() != LossReduction::none) {
    tree.classifier = classifier;
    tree.reduction = classifier.getReduction();
    return tree;
  }
  auto sum = dyn_cast_or_null<ReductionOpInterface>(op);
  if (sum && sum.getCombiner() == Combiner::Add && typeOf(op->getResult(0)).getNumElements() == 1) {
    tree.reduction = sum.isMean() ? LossReduction::mean : LossReduction::sum;
    tree.elements = op->getOperand(0);
  } else if (auto mean = dyn_cast_or_null<DivOp>(op)) {
    if (Value elements = summed(mean.getLhs()), weights = summed(mean.getRhs()); elements && weights) {
      tree.reduction = LossReduction::mean;
      tree.elements = elements;
      tree.weights = weights;
    }
  }
  if (tree.elements) {
    llvm::SmallSetVector<Operation *, 2> classifiers;
    llvm::SmallPtrSet<Operation *, 16> seen;
    collectClassifiers(tree.elements, classifiers, seen);
    if (classifiers.size() == 1)
      tree.classifier = cast<ClassificationLossOpInterface>(classifiers.front());
  }
  return tree;
}

Classification training::findClassification(Value loss) {
  ClassificationLossOpInterface op = parseLoss(loss).classifier;
  if (!op)
    return {};
  Value scores = op.getScores();
  Classification result{scores, op.getLabels(), shapeOf(scores)[1], op.getIgnoreIndex()};
  // The largest log-probability is the largest logit, and logits are what people expect of `predict`.
  if (auto logSoftmax = scores.getDefiningOp<LogSoftmaxOp>(); logSoftmax && logSoftmax.getAxis() == 1)
    result.logits = logSoftmax.getX();
  return result;
}

/// Sums x over all that belongs to one sample: [M, d...] to [N]. M may be N times a factor (sequences
/// flattened into samples) if `flattened` allows it. The result is null when x is not made of N samples.
static Value sumSamples(const GraphBuilder &b, Value x, int64_t samples, bool flattened) {
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shape.empty() || samples == 0 || (shape[0] != samples && !(flattened && shape[0] % samples == 0)))
    return {};
  x = b.cast(x, b.builder.getF32Type());
  if (shape.size() == 1 && shape[0] == samples)
    return x;
  return b.sum(b.reshape(x, {samples, typeOf(x).getNumElements() / samples}), {1});
}

std::optional<SampleLoss> training::splitLoss(EntryBuilder &entry, Value loss) {
  std::optional<int64_t> samples = entry.batchSize();
  LossTree tree = parseLoss(loss);
  if (!samples || tree.reduction == LossReduction::none)
    return std::nullopt;
  GraphBuilder b(entry.builder, loss.getLoc());

  // [N*T] rows belong to samples in order when the labels were [N, T...] before they were flattened.
  bool flattened = false;
  if (tree.classifier) {
    Value source = stripViews(tree.classifier.getLabels());
    flattened = isa<BlockArgument>(source) && typeOf(source).getRank() > 0 && shapeOf(source)[0] == *samples;
  }
  SampleLoss split;
  Value weights = tree.weights;
  if (!tree.elements) {
    ClassificationLossOpInterface classifier = tree.classifier;
    split.losses = sumSamples(b, classifier.withReduction(b.builder, LossReduction::none), *samples, flattened);
    Value classWeights = classifier.getWeights();
    std::optional<int64_t> ignored = classifier.getIgnoreIndex();
    if (split.losses && (classWeights || ignored) && tree.reduction == LossReduction::mean)
      weights = labelWeights(b, classifier.getLabels(), classWeights, ignored);
  } else {
    split.losses = sumSamples(b, tree.elements, *samples, flattened);
  }
  if (weights)
    split.weights = sumSamples(b, weights, *samples, flattened);
  if (!split.losses || (weights && !split.weights))
    return std::nullopt;
  if (!split.weights) {
    // A mean counts its elements; a sum is the loss of one batch.
    Value counted = tree.elements ? tree.elements : tree.classifier.getLabels();
    double weight = tree.reduction == LossReduction::mean ? double(typeOf(counted).getNumElements()) / double(*samples)
                                                          : 1.0 / double(*samples);
    split.weights = b.splat(RankedTensorType::get({*samples}, b.builder.getF32Type()), weight);
  }
  return split;
}
