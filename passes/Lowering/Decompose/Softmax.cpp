//===- Softmax.cpp - softmax and losses in primitive ops ------------------------===//
#include "passes/Lowering/Decompose/Decompositions.h"

using namespace mlir;
using namespace mpc;
using Values = llvm::SmallVector<Value>;

/// x - max, and log or sum of exponentials, along `axis`; reductions keep their dimension.
static std::pair<Value, Value> shiftedAndSum(GraphFormula &f, Value x, int64_t axis) {
  Value shifted = f.sub(x, f.max(x, axis, true));
  return {shifted, f.sum(f.exp(shifted), axis, true)};
}
static Value logSoftmax(GraphFormula &f, Value x, int64_t axis) {
  auto [shifted, sum] = shiftedAndSum(f, x, axis);
  return f.sub(shifted, f.log(sum));
}

/// e^(x - max) / sum
Values mpc::decompose(graph::SoftmaxOp op, GraphFormula f) {
  Value x = f.up(op.getX()), shifted = f.sub(x, f.max(x, op.getAxis(), true)), e = f.exp(shifted);
  return {f.down(f.div(e, f.sum(e, op.getAxis(), true)), graph::elementOf(op.getY()))};
}
/// x - max - log sum e^(x - max)
Values mpc::decompose(graph::LogSoftmaxOp op, GraphFormula f) {
  return {f.down(logSoftmax(f, f.up(op.getX()), op.getAxis()), graph::elementOf(op.getY()))};
}

/// The score of each sample's label, [N, 1, d...] of scores [N, C, d...]: a masked sum along the classes runs in the same
/// loop nest as a softmax, which a gather would not.
static Value pick(GraphFormula &f, Value scores, Value labels) {
  Type i32 = f.b.getI32Type();
  graph::Shape withClass(graph::shapeOf(labels)), classes(graph::shapeOf(scores).size(), 1);
  withClass.insert(withClass.begin() + 1, 1);
  classes[1] = graph::shapeOf(scores)[1];
  Value column = graph::reshapeTo(f.b, f.loc, labels, withClass);
  column = f.down(column, i32);
  Value number = graph::IotaOp::create(f.b, f.loc, RankedTensorType::get(classes, i32), 1);
  Value mine = graph::CompareOp::create(f.b, f.loc, graph::Predicate::eq, number, column);
  Value masked = graph::SelectOp::create(f.b, f.loc, mine, scores, f.scalar(scores, 0));
  return f.sum(masked, 1, true);
}

/// picked: [N, 1, d...] log-probabilities of the labels.
template <typename OpT>
static Values loss(OpT op, GraphFormula &f, Value picked) {
  graph::Shape shape(graph::shapeOf(op.getLabels()));
  Value sample = f.neg(graph::reshapeTo(f.b, f.loc, picked, shape));
  Value weight; // of each sample
  Type type = graph::elementOf(sample);
  if (op.getWeights())
    weight = f.up(graph::GatherOp::create(f.b, f.loc, op.getWeights(), op.getLabels(), 0));
  if (op.getIgnoreIndex()) {
    Value ignored = graph::scalar(f.b, f.loc, graph::elementOf(op.getLabels()), double(int64_t(*op.getIgnoreIndex())));
    Value counts = graph::CompareOp::create(f.b, f.loc, graph::Predicate::ne, op.getLabels(), ignored);
    Value zero = f.scalar(sample, 0);
    sample = graph::SelectOp::create(f.b, f.loc, counts, sample, zero);
    weight = weight ? Value(graph::SelectOp::create(f.b, f.loc, counts, weight, zero)) : f.down(counts, type);
  }
  if (op.getWeights())
    sample = f.mul(weight, sample);
  Type element = graph::elementOf(op.getLoss());
  if (op.getReduction() == graph::LossReduction::none)
    return {f.down(sample, element)};
  graph::Shape all;
  for (size_t i = 0; i < shape.size(); ++i)
    all.push_back(i);
  Value total = f.sum(sample, all, false);
  if (op.getReduction() == graph::LossReduction::mean) {
    Value by = weight ? f.sum(weight, all, false) : f.scalar(sample, graph::typeOf(sample).getNumElements());
    total = f.div(total, by);
  }
  return {f.down(total, element)};
}

Values mpc::decompose(graph::NllLossOp op, GraphFormula f) {
  return loss(op, f, pick(f, f.up(op.getLogProbabilities()), op.getLabels()));
}
/// log_softmax at the label only: shifted[label] - log(sum).
Values mpc::decompose(graph::SoftmaxCrossEntropyOp op, GraphFormula f) {
  auto [shifted, sum] = shiftedAndSum(f, f.up(op.getLogits()), 1);
  return loss(op, f, f.sub(pick(f, shifted, op.getLabels()), f.log(sum)));
}
