//===- Normalization.cpp - models of batch normalisation and softmax ----------------------===//
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>

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
      double factor =
          e.operands[1].values[c] / std::sqrt(e.operands[4].values[c] + op.getEpsilon().convertToDouble());
      walkChannel(view, c, [&](int64_t i) { e.results[0].values[i] = (e.operands[0].values[i] - mean) * factor + bias; });
    }
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
  SoftmaxOp::attachInterface<SoftmaxModel<SoftmaxOp, false>>(c);
  LogSoftmaxOp::attachInterface<SoftmaxModel<LogSoftmaxOp, true>>(c);
}
