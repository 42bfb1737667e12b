#include "passes/Training/SampleLoss.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::training;

namespace {
/// A reduction of everything to one element: of classification scores, or of element losses.
struct LossTree {
  Operation *classifier = nullptr; // graph.softmax_cross_entropy or graph.nll_loss
  Value elements; // what graph.reduce_mean or reduce_sum reduces; null if the classifier itself does
  LossReduction reduction = LossReduction::none;
};
} // namespace

static LossReduction reductionOf(Operation *classifier) {
  if (auto op = dyn_cast<SoftmaxCrossEntropyOp>(classifier))
    return op.getReduction();
  return cast<NllLossOp>(classifier).getReduction();
}
static std::optional<int64_t> ignoreIndexOf(Operation *classifier) {
  if (auto op = dyn_cast<SoftmaxCrossEntropyOp>(classifier))
    return op.getIgnoreIndex();
  return cast<NllLossOp>(classifier).getIgnoreIndex();
}
static bool isClassifier(Operation *op) { return isa_and_nonnull<SoftmaxCrossEntropyOp, NllLossOp>(op); }

static LossTree parseLoss(Value loss) {
  LossTree tree;
  Operation *op = stripViews(loss).getDefiningOp();
  if (isClassifier(op) && reductionOf(op) != LossReduction::none) {
    tree.classifier = op;
    tree.reduction = reductionOf(op);
  } else if (isa_and_nonnull<ReduceMeanOp, ReduceSumOp>(op) &&
             typeOf(op->getResult(0)).getNumElements() == 1) {
    tree.reduction = isa<ReduceMeanOp>(op) ? LossReduction::mean : LossReduction::sum;
    tree.elements = op->getOperand(0);
    if (Operation *inner = stripViews(tree.elements).getDefiningOp(); isClassifier(inner))
      tree.classifier = inner;
  }
  return tree;
}

Classification training::findClassification(Value loss) {
  Operation *op = parseLoss(loss).classifier;
  if (!op)
    return {};
  Value scores = op->getOperand(0);
  Classification result{scores, op->getOperand(1), shapeOf(scores)[1], ignoreIndexOf(op)};
  // The largest log-probability is the largest logit, and logits are what people expect of `predict`.
  if (auto logSoftmax = scores.getDefiningOp<LogSoftmaxOp>())
    result.logits = logSoftmax.getX();
  return result;
}

/// Sums x over all that belongs to one sample: [M, d...] to [N]. M may be N times a factor (sequences
/// flattened into samples) if `flattened` allows it. Null when x is not made of N samples.
static Value sumSamples(OpBuilder &b, Location loc, Value x, int64_t samples, bool flattened) {
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shape.empty() || samples == 0 || (shape[0] != samples && !(flattened && shape[0] % samples == 0)))
    return {};
  x = castTo(b, loc, x, b.getF32Type());
  if (shape.size() == 1 && shape[0] == samples)
    return x;
  x = reshapeTo(b, loc, x, {samples, typeOf(x).getNumElements() / samples});
  return ReduceSumOp::create(b, loc, x, ArrayRef<int64_t>{1}, /*keepdims=*/false);
}

/// The weight of each label: weights[label], 0 where it is ignored. Shape of the labels.
static Value labelWeights(OpBuilder &b, Location loc, Operation *classifier) {
  Value labels = classifier->getOperand(1);
  Value weights = classifier->getNumOperands() > 2 ? classifier->getOperand(2) : Value();
  RankedTensorType type = typeOf(labels).clone(b.getF32Type());
  std::optional<int64_t> ignored = ignoreIndexOf(classifier);
  if (!ignored)
    return weights ? castTo(b, loc, GatherOp::create(b, loc, weights, labels, 0), b.getF32Type())
                   : splat(b, loc, type, 1);
  Value valid =
      CompareOp::create(b, loc, Predicate::ne, labels, scalar(b, loc, elementOf(labels), double(*ignored)));
  if (!weights)
    return castTo(b, loc, valid, b.getF32Type());
  // An ignored label may be no index at all.
  Value safe = SelectOp::create(b, loc, valid, labels, scalar(b, loc, elementOf(labels), 0));
  Value gathered = castTo(b, loc, GatherOp::create(b, loc, weights, safe, 0), b.getF32Type());
  return SelectOp::create(b, loc, valid, gathered, scalar(b, loc, b.getF32Type(), 0));
}

/// The same classification with one loss per label.
static Value unreduced(OpBuilder &b, Operation *classifier) {
  if (auto op = dyn_cast<SoftmaxCrossEntropyOp>(classifier))
    return SoftmaxCrossEntropyOp::create(b, op.getLoc(), op.getLogits(), op.getLabels(), op.getWeights(),
                                         LossReduction::none, op.getIgnoreIndexAttr());
  auto op = cast<NllLossOp>(classifier);
  return NllLossOp::create(b, op.getLoc(), op.getLogProbabilities(), op.getLabels(), op.getWeights(),
                           LossReduction::none, op.getIgnoreIndexAttr());
}

std::optional<SampleLoss> training::splitLoss(EntryBuilder &entry, Value loss) {
  std::optional<int64_t> samples = entry.batchSize();
  LossTree tree = parseLoss(loss);
  if (!samples || tree.reduction == LossReduction::none)
    return std::nullopt;
  OpBuilder &b = entry.builder;
  Location loc = loss.getLoc();

  // [N*T] rows belong to samples in order when the labels were [N, T...] before they were flattened.
  bool flattened = false;
  if (tree.classifier) {
    Value source = stripViews(tree.classifier->getOperand(1));
    flattened = isa<BlockArgument>(source) && typeOf(source).getRank() > 0 && shapeOf(source)[0] == *samples;
  }
  SampleLoss split;
  bool weighted = false;
  if (!tree.elements) {
    split.losses = sumSamples(b, loc, unreduced(b, tree.classifier), *samples, flattened);
    weighted = tree.classifier->getNumOperands() > 2 || ignoreIndexOf(tree.classifier);
    if (split.losses && weighted && tree.reduction == LossReduction::mean)
      split.weights = sumSamples(b, loc, labelWeights(b, loc, tree.classifier), *samples, flattened);
  } else {
    split.losses = sumSamples(b, loc, tree.elements, *samples, flattened);
  }
  if (!split.losses)
    return std::nullopt;
  if (!split.weights) {
    // A mean counts its elements; a sum is the loss of one batch.
    Value counted = tree.elements ? tree.elements : tree.classifier->getOperand(1);
    double weight = tree.reduction == LossReduction::mean
                        ? double(typeOf(counted).getNumElements()) / double(*samples)
                        : 1.0 / double(*samples);
    split.weights = splat(b, loc, RankedTensorType::get({*samples}, b.getF32Type()), weight);
  }
  return split;
}
