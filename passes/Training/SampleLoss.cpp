// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Training/SampleLoss.h"
#include "dialects/Graph/IR/Losses.h"
#include "passes/Training/PerSample.h"
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
  double scale = 1; // what the reduced loss is multiplied by
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

/// Returns x and the factor if a number is x * c, x / c or -x with a constant c; nullopt for other numbers.
static std::optional<std::pair<Value, double>> scaledNumber(Operation *op) {
  if (auto mul = dyn_cast_or_null<MulOp>(op)) {
    if (std::optional<double> c = splatNumber(mul.getRhs()))
      return std::pair(mul.getLhs(), *c);
    if (std::optional<double> c = splatNumber(mul.getLhs()))
      return std::pair(mul.getRhs(), *c);
  } else if (auto div = dyn_cast_or_null<DivOp>(op)) {
    if (std::optional<double> c = splatNumber(div.getRhs()); c && *c != 0)
      return std::pair(div.getLhs(), 1 / *c);
  } else if (auto neg = dyn_cast_or_null<NegOp>(op)) {
    return std::pair(neg.getX(), -1.0);
  }
  return std::nullopt;
}

static LossTree parseLoss(Value loss) {
  LossTree tree;
  Operation *op = stripViews(loss).getDefiningOp();
  if (auto scaled = scaledNumber(op); scaled && typeOf(scaled->first).getNumElements() == 1) {
    tree = parseLoss(scaled->first);
    tree.scale *= scaled->second;
    return tree;
  }
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

/// Sums x, whose samples lie at `at`, over all that belongs to one sample: [d..., k*N*inner, d...] to [N].
static Value sumSamples(const GraphBuilder &b, Value x, PerSample::Position at, int64_t samples) {
  ArrayRef<int64_t> shape = shapeOf(x);
  const int64_t after = at.inner * llvm::product_of(shape.drop_front(at.dim + 1)),
                before = llvm::product_of(shape.take_front(at.dim + 1)) / (samples * at.inner);
  x = b.cast(x, b.builder.getF32Type());
  if (before != 1)
    return b.sum(b.reshape(x, {before, samples, after}), {0, 2});
  return after == 1 ? b.reshape(x, {samples}) : b.sum(b.reshape(x, {samples, after}), {1});
}

std::optional<SampleLoss> training::splitLoss(EntryBuilder &entry, Value loss) {
  const int64_t samples = entry.batchSize().value_or(0);
  LossTree tree = parseLoss(loss);
  if (samples == 0 || tree.reduction == LossReduction::none)
    return std::nullopt;
  GraphBuilder b(entry.builder, loss.getLoc());
  const bool isMean = tree.reduction == LossReduction::mean;
  Value elements = tree.elements, weights = tree.weights;
  if (!elements) {
    ClassificationLossOpInterface classifier = tree.classifier;
    elements = classifier.withReduction(b.builder, LossReduction::none);
    Value classWeights = classifier.getWeights();
    std::optional<int64_t> ignored = classifier.getIgnoreIndex();
    if (isMean && (classWeights || ignored))
      weights = labelWeights(b, classifier.getLabels(), classWeights, ignored);
  }
  const PerSample perSample = entry.perSample();
  std::optional<PerSample::Position> at = perSample.position(elements);
  if (!at)
    return std::nullopt;
  SampleLoss split{sumSamples(b, elements, *at, samples), {}};
  if (tree.scale != 1)
    split.losses = b.mul(split.losses, tree.scale);
  if (!weights) {
    // A mean counts its elements; a sum is the loss of one batch.
    const double weight = (isMean ? double(typeOf(elements).getNumElements()) : 1.0) / double(samples);
    split.weights = b.splat(RankedTensorType::get({samples}, b.builder.getF32Type()), weight);
    return split;
  }
  // Weights that are the same in each batch lie where the elements do.
  std::optional<PerSample::Position> weightsAt = perSample.position(weights);
  if (perSample.fixed(weights) && shapeOf(weights) == shapeOf(elements))
    weightsAt = at;
  if (!weightsAt)
    return std::nullopt;
  split.weights = sumSamples(b, weights, *weightsAt, samples);
  return split;
}
