//===- Normalization.cpp - models of normalisations and softmax ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

/// Calls fn(i) for the index of each element of a channel.
template <typename Fn>
static void walkChannel(const AxisView &view, int64_t c, Fn &&fn) {
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t i = 0; i < view.inner; ++i)
      fn(view.at(o, c, i));
}

namespace {
struct BatchNormModel : EvalModel<BatchNormModel, BatchNormOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<BatchNormOp>(operation);
    const std::vector<double> &x = e.operands[0].values;
    AxisView view(e.operands[0].shape, op.getAxis());
    const double count = double(view.outer * view.inner), epsilon = op.getEpsilon().convertToDouble();
    for (int64_t c = 0; c < view.extent; ++c) {
      double mean = 0, variance = 0;
      walkChannel(view, c, [&](int64_t i) { mean += x[i]; });
      mean /= count;
      walkChannel(view, c, [&](int64_t i) { variance += (x[i] - mean) * (x[i] - mean); });
      variance /= count;
      double factor = e.operands[1].values[c] / std::sqrt(variance + epsilon), bias = e.operands[2].values[c];
      walkChannel(view, c, [&](int64_t i) { e.results[0].values[i] = (x[i] - mean) * factor + bias; });
      e.results[1].values[c] = mean;
      e.results[2].values[c] = variance;
    }
    return success();
  }
};

struct BatchNormGradModel : EvalModel<BatchNormGradModel, BatchNormGradOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<BatchNormGradOp>(operation);
    const std::vector<double> &x = e.operands[0].values, &dy = e.operands[4].values;
    AxisView view(e.operands[0].shape, op.getAxis());
    const double count = double(view.outer * view.inner), epsilon = op.getEpsilon().convertToDouble();
    for (int64_t c = 0; c < view.extent; ++c) {
      double scale = e.operands[1].values[c], mean = e.operands[2].values[c];
      double r = 1 / std::sqrt(e.operands[3].values[c] + epsilon), dscale = 0, dbias = 0;
      walkChannel(view, c, [&](int64_t i) {
        dbias += dy[i];
        dscale += dy[i] * (x[i] - mean) * r;
      });
      walkChannel(view, c, [&](int64_t i) {
        e.results[0].values[i] = scale * r * (dy[i] - dbias / count - (x[i] - mean) * r * dscale / count);
      });
      e.results[1].values[c] = dscale;
      e.results[2].values[c] = dbias;
    }
    return success();
  }
};

struct BatchNormInferenceModel : EvalModel<BatchNormInferenceModel, BatchNormInferenceOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<BatchNormInferenceOp>(operation);
    AxisView view(e.operands[0].shape, op.getAxis());
    for (int64_t c = 0; c < view.extent; ++c) {
      double mean = e.operands[3].values[c], bias = e.operands[2].values[c];
      double factor = e.operands[1].values[c] / std::sqrt(e.operands[4].values[c] + op.getEpsilon().convertToDouble());
      walkChannel(view, c,
                  [&](int64_t i) { e.results[0].values[i] = (e.operands[0].values[i] - mean) * factor + bias; });
    }
    return success();
  }
};

/// The sets of elements that a norm takes together. In flat positions, element i of x belongs to set setOf[i]
/// and takes element scaleOf[i] of the scale and biasOf[i] of the bias.
struct NormSets {
  std::vector<int64_t> setOf, scaleOf, biasOf;
  std::vector<double> counts;
};

/// For each element of `shape`, the position of the element of a broadcast tensor of `own` shape that is read
/// for it.
static std::vector<int64_t> broadcastPositions(ArrayRef<int64_t> own, ArrayRef<int64_t> shape) {
  HostTensor positions;
  positions.shape.assign(own.begin(), own.end());
  positions.values.resize(size_t(llvm::product_of(own)));
  std::iota(positions.values.begin(), positions.values.end(), 0.0);
  std::vector<double> storage;
  const std::vector<double> &spread = broadcastValues(positions, shape, storage);
  return std::vector<int64_t>(spread.begin(), spread.end());
}

static NormSets layerSets(ArrayRef<HostTensor> operands, ArrayRef<int64_t> axes) {
  ArrayRef<int64_t> x = operands[0].shape;
  Shape kept = reducedShape(x, axes, /*keepdims=*/true);
  NormSets sets{broadcastPositions(kept, x),
                broadcastPositions(operands[1].shape, x),
                broadcastPositions(operands[2].shape, x),
                {}};
  sets.counts.resize(size_t(llvm::product_of(kept)));
  for (int64_t set : sets.setOf)
    ++sets.counts[set];
  return sets;
}
static NormSets groupSets(ArrayRef<HostTensor> operands, int64_t axis, int64_t groups) {
  ArrayRef<int64_t> x = operands[0].shape;
  AxisView view(x, axis);
  NormSets sets;
  int64_t samples = x[0], perSample = samples ? view.outer * view.extent * view.inner / samples : 0,
          width = view.extent / groups;
  sets.counts.resize(size_t(samples * groups));
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t c = 0; c < view.extent; ++c)
      for (int64_t i = 0; i < view.inner; ++i) {
        sets.setOf.push_back(view.at(o, c, i) / perSample * groups + c / width);
        sets.scaleOf.push_back(c);
        ++sets.counts[sets.setOf.back()];
      }
  sets.biasOf = sets.scaleOf;
  return sets;
}

static void evaluateNorm(const NormSets &sets, NormKind kind, double epsilon, Evaluation &e) {
  const std::vector<double> &x = e.operands[0].values;
  std::vector<double> &mean = e.results[1].values, &inverse = e.results[2].values, squares(mean.size());
  if (kind == NormKind::layer)
    for (size_t i = 0; i < x.size(); ++i)
      mean[sets.setOf[i]] += x[i] / sets.counts[sets.setOf[i]];
  for (size_t i = 0; i < x.size(); ++i) {
    double d = x[i] - mean[sets.setOf[i]];
    squares[sets.setOf[i]] += d * d;
  }
  for (size_t s = 0; s < squares.size(); ++s) {
    double divisor = kind == NormKind::l2 ? std::max(std::sqrt(squares[s]), epsilon)
                                          : std::sqrt(squares[s] / sets.counts[s] + epsilon);
    inverse[s] = kind == NormKind::l2 && divisor == 0 ? 0 : 1 / divisor;
  }
  for (size_t i = 0; i < x.size(); ++i)
    e.results[0].values[i] =
        (x[i] - mean[sets.setOf[i]]) * inverse[sets.setOf[i]] * e.operands[1].values[sets.scaleOf[i]] +
        e.operands[2].values[sets.biasOf[i]];
}

static void evaluateNormGrad(const NormSets &sets, NormKind kind, double epsilon, const HostTensor &meanOf,
                             const HostTensor &inverseOf, const HostTensor &dyOf, Evaluation &e) {
  const std::vector<double> &x = e.operands[0].values, &scale = e.operands[1].values, &mean = meanOf.values,
                            &inverse = inverseOf.values, &dy = dyOf.values;
  std::vector<double> sums(mean.size()), products(mean.size());
  auto normalised = [&](size_t i) {
    return (x[i] - (kind == NormKind::layer ? mean[sets.setOf[i]] : 0)) * inverse[sets.setOf[i]];
  };
  for (size_t i = 0; i < x.size(); ++i) {
    double g = dy[i] * scale[sets.scaleOf[i]];
    sums[sets.setOf[i]] += g;
    products[sets.setOf[i]] += g * normalised(i);
    e.results[1].values[sets.scaleOf[i]] += dy[i] * normalised(i);
    e.results[2].values[sets.biasOf[i]] += dy[i];
  }
  for (size_t i = 0; i < x.size(); ++i) {
    size_t s = sets.setOf[i];
    double g = dy[i] * scale[sets.scaleOf[i]], n = kind == NormKind::l2 ? 1 : sets.counts[s];
    double along = kind == NormKind::l2 && !(inverse[s] * epsilon < 1 - 0x1p-20) ? 0 : normalised(i) * products[s] / n;
    e.results[0].values[i] = inverse[s] * (g - (kind == NormKind::layer ? sums[s] / n : 0) - along);
  }
}

struct LayerNormModel : EvalModel<LayerNormModel, LayerNormOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<LayerNormOp>(operation);
    evaluateNorm(layerSets(e.operands, op.getAxes()), op.getKind(), op.getEpsilon().convertToDouble(), e);
    return success();
  }
};
struct LayerNormGradModel : EvalModel<LayerNormGradModel, LayerNormGradOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<LayerNormGradOp>(operation);
    evaluateNormGrad(layerSets(e.operands, op.getAxes()), op.getKind(), op.getEpsilon().convertToDouble(),
                     e.operands[3], e.operands[4], e.operands[5], e);
    return success();
  }
};
struct GroupNormModel : EvalModel<GroupNormModel, GroupNormOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<GroupNormOp>(operation);
    evaluateNorm(groupSets(e.operands, op.getAxis(), op.getGroups()), NormKind::layer,
                 op.getEpsilon().convertToDouble(), e);
    return success();
  }
};
struct GroupNormGradModel : EvalModel<GroupNormGradModel, GroupNormGradOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<GroupNormGradOp>(operation);
    evaluateNormGrad(groupSets(e.operands, op.getAxis(), op.getGroups()), NormKind::layer,
                     op.getEpsilon().convertToDouble(), e.operands[2], e.operands[3], e.operands[4], e);
    return success();
  }
};

template <typename OpT, bool Log>
struct SoftmaxModel : EvalModel<SoftmaxModel<OpT, Log>, OpT> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const std::vector<double> &x = e.operands[0].values;
    std::vector<double> &y = e.results[0].values;
    AxisView view(e.operands[0].shape, cast<OpT>(op).getAxis());
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t i = 0; i < view.inner; ++i) {
        double max = -INFINITY, sum = 0;
        for (int64_t k = 0; k < view.extent; ++k)
          max = std::max(max, x[view.at(o, k, i)]);
        for (int64_t k = 0; k < view.extent; ++k)
          sum += std::exp(x[view.at(o, k, i)] - max);
        for (int64_t k = 0; k < view.extent; ++k) {
          int64_t at = view.at(o, k, i);
          y[at] = Log ? x[at] - max - std::log(sum) : std::exp(x[at] - max) / sum;
        }
      }
    return success();
  }
};
} // namespace

void mpc::attachNormalizationModels(MLIRContext &c) {
  BatchNormOp::attachInterface<BatchNormModel>(c);
  BatchNormGradOp::attachInterface<BatchNormGradModel>(c);
  BatchNormInferenceOp::attachInterface<BatchNormInferenceModel>(c);
  LayerNormOp::attachInterface<LayerNormModel>(c);
  LayerNormGradOp::attachInterface<LayerNormGradModel>(c);
  GroupNormOp::attachInterface<GroupNormModel>(c);
  GroupNormGradOp::attachInterface<GroupNormGradModel>(c);
  SoftmaxOp::attachInterface<SoftmaxModel<SoftmaxOp, false>>(c);
  LogSoftmaxOp::attachInterface<SoftmaxModel<LogSoftmaxOp, true>>(c);
}
