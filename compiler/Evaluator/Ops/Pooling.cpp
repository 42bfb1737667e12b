//===- Pooling.cpp - models of pooling --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
/// The windows of a pooling op over x ([N, C, spatial...] in either layout), for any number of spatial dimensions.
struct Windows {
  SmallVector<int64_t> kernel, strides, dilations, padLow, padHigh;
  SmallVector<int64_t> in, out; // spatial extents
  SmallVector<int64_t> x, y;    // shapes
  int64_t space;

  template <typename OpT>
  Windows(OpT op, ArrayRef<int64_t> x, ArrayRef<int64_t> y)
      : kernel(op.getKernel()), strides(op.getStrides()), dilations(op.getDilations()), padLow(op.getPadLow()),
        padHigh(op.getPadHigh()), x(x), y(y), space(spatialAxis(op.getLayout())) {
    in.assign(x.begin() + space, x.begin() + space + kernel.size());
    out.assign(y.begin() + space, y.begin() + space + kernel.size());
  }

  /// Calls element(y index, x index, position in the window) for each element of each window that lies in x;
  /// windows are in row-major order of y, and positions in row-major order, too. Before a window's elements
  /// it calls start(y index), after them finish(y index, number of elements in x and padding).
  template <typename Start, typename Element, typename Finish>
  void walk(Start &&start, Element &&element, Finish &&finish) const {
    SmallVector<int64_t> xStrides = stridesOf(x), yIndex(y.size(), 0);
    SmallVector<int64_t> spaceStrides(xStrides.begin() + space, xStrides.begin() + space + kernel.size());
    int64_t total = 1, positions = 1;
    for (int64_t extent : y)
      total *= extent;
    for (int64_t extent : kernel)
      positions *= extent;
    for (int64_t i = 0; i < total; ++i) {
      int64_t base = 0;
      for (size_t d = 0; d < y.size(); ++d)
        if (int64_t(d) < space || d >= space + kernel.size())
          base += yIndex[d] * xStrides[d];
      start(i);
      int64_t padded = 0;
      for (int64_t p = 0; p < positions; ++p) {
        int64_t at = base, rest = p;
        bool inX = true, inPadded = true;
        for (int64_t d = int64_t(kernel.size()) - 1; d >= 0; --d) {
          int64_t k = rest % kernel[d], c = yIndex[space + d] * strides[d] + k * dilations[d] - padLow[d];
          rest /= kernel[d];
          inX &= c >= 0 && c < in[d];
          inPadded &= c < in[d] + padHigh[d]; // a window of ceil_mode may reach further, which does not count
          at += c * spaceStrides[d];
        }
        padded += inPadded;
        if (inX)
          element(i, at, p);
      }
      finish(i, padded);
      for (int64_t d = int64_t(y.size()) - 1; d >= 0 && ++yIndex[d] == y[d]; --d)
        yIndex[d] = 0;
    }
  }
};

struct MaxPoolModel : EvalModel<MaxPoolModel, MaxPoolOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const std::vector<double> &x = e.operands[0].values;
    std::vector<double> &y = e.results[0].values, &argmax = e.results[1].values;
    // A window that lies wholly in the padding gives the smallest number.
    std::fill(y.begin(), y.end(), -INFINITY);
    bool first = true;
    Windows(cast<MaxPoolOp>(op), e.operands[0].shape, e.results[0].shape)
        .walk([&](int64_t) { first = true; },
              [&](int64_t i, int64_t at, int64_t p) {
                if (first || x[at] > y[i] || (std::isnan(x[at]) && !std::isnan(y[i]))) {
                  y[i] = x[at];
                  argmax[i] = double(p);
                }
                first = false;
              },
              [](int64_t, int64_t) {});
    return success();
  }
};

struct MaxPoolGradModel : EvalModel<MaxPoolGradModel, MaxPoolGradOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const std::vector<double> &dy = e.operands[0].values, &argmax = e.operands[1].values;
    std::vector<double> &dx = e.results[0].values;
    Windows(cast<MaxPoolGradOp>(op), e.results[0].shape, e.operands[0].shape)
        .walk([](int64_t) {},
              [&](int64_t i, int64_t at, int64_t p) {
                if (p == int64_t(argmax[i]))
                  dx[at] += dy[i];
              },
              [](int64_t, int64_t) {});
    return success();
  }
};

struct AvgPoolModel : EvalModel<AvgPoolModel, AvgPoolOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<AvgPoolOp>(operation);
    const std::vector<double> &x = e.operands[0].values;
    std::vector<double> &y = e.results[0].values;
    int64_t inside = 0;
    Windows(op, e.operands[0].shape, e.results[0].shape)
        .walk([&](int64_t) { inside = 0; },
              [&](int64_t i, int64_t at, int64_t) {
                y[i] += x[at];
                ++inside;
              },
              [&](int64_t i, int64_t padded) {
                // A window that lies wholly in the padding gives 0.
                y[i] /= double(std::max<int64_t>(op.getCountIncludePad() ? padded : inside, 1));
              });
    return success();
  }
};

struct AvgPoolGradModel : EvalModel<AvgPoolGradModel, AvgPoolGradOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<AvgPoolGradOp>(operation);
    const std::vector<double> &dy = e.operands[0].values;
    std::vector<double> &dx = e.results[0].values;
    std::vector<int64_t> elements;
    Windows(op, e.results[0].shape, e.operands[0].shape)
        .walk([&](int64_t) { elements.clear(); }, [&](int64_t, int64_t at, int64_t) { elements.push_back(at); },
              [&](int64_t i, int64_t padded) {
                double share = dy[i] / double(std::max<int64_t>(op.getCountIncludePad() ? padded : elements.size(), 1));
                for (int64_t at : elements)
                  dx[at] += share;
              });
    return success();
  }
};

/// Calls add(y index, x index, w index) for each product of a depthwise convolution.
template <typename OpT, typename Add>
void walkDepthwise(OpT op, ArrayRef<int64_t> x, ArrayRef<int64_t> y, Add &&add) {
  int64_t axis = channelAxis(op.getLayout(), int64_t(y.size())), inner = stridesOf(y)[axis], channels = y[axis];
  Windows(op, x, y).walk([](int64_t) {},
                         [&](int64_t i, int64_t at, int64_t p) { add(i, at, p * channels + i / inner % channels); },
                         [](int64_t, int64_t) {});
}

struct DepthwiseConvModel : EvalModel<DepthwiseConvModel, DepthwiseConvOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const std::vector<double> &x = e.operands[0].values, &w = e.operands[1].values;
    std::vector<double> &y = e.results[0].values;
    walkDepthwise(cast<DepthwiseConvOp>(op), e.operands[0].shape, e.results[0].shape,
                  [&](int64_t i, int64_t at, int64_t k) { y[i] += x[at] * w[k]; });
    return success();
  }
};

struct DepthwiseInputGradModel : EvalModel<DepthwiseInputGradModel, DepthwiseInputGradOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const std::vector<double> &dy = e.operands[0].values, &w = e.operands[1].values;
    std::vector<double> &dx = e.results[0].values;
    walkDepthwise(cast<DepthwiseInputGradOp>(op), e.results[0].shape, e.operands[0].shape,
                  [&](int64_t i, int64_t at, int64_t k) { dx[at] += dy[i] * w[k]; });
    return success();
  }
};
} // namespace

void mpc::attachPoolingModels(MLIRContext &c) {
  MaxPoolOp::attachInterface<MaxPoolModel>(c);
  MaxPoolGradOp::attachInterface<MaxPoolGradModel>(c);
  AvgPoolOp::attachInterface<AvgPoolModel>(c);
  AvgPoolGradOp::attachInterface<AvgPoolGradModel>(c);
  DepthwiseConvOp::attachInterface<DepthwiseConvModel>(c);
  DepthwiseInputGradOp::attachInterface<DepthwiseInputGradModel>(c);
}
