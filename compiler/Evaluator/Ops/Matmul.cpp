//===- Matmul.cpp - models of matrix products and convolutions ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ops use one float64 GEMM (Common.cpp); convolutions go through im2col, one sample and group at a time.
//
//===----------------------------------------------------------------------===//
#include "compiler/Evaluator/Ops/Models.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {
struct MatMulModel : EvalModel<MatMulModel, MatMulOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    auto op = cast<MatMulOp>(operation);
    const HostTensor &a = e.operands[0], &b = e.operands[1];
    HostTensor &c = e.results[0];
    int64_t m = c.shape[c.shape.size() - 2], n = c.shape.back();
    int64_t k = op.getTransposeA() ? a.shape[a.shape.size() - 2] : a.shape.back();
    ArrayRef<int64_t> batch = ArrayRef<int64_t>(c.shape).drop_back(2);
    std::vector<int64_t> atA = matrixOffsets(a, batch), atB = matrixOffsets(b, batch);
    for (size_t i = 0; i < atA.size(); ++i) {
      const double *pa = a.values.data() + atA[i], *pb = b.values.data() + atB[i];
      std::vector<double> ta, tb;
      if (op.getTransposeA())
        pa = (ta = transposed(pa, k, m)).data();
      if (op.getTransposeB())
        pb = (tb = transposed(pb, n, k)).data();
      gemmAdd(m, n, k, pa, k, pb, n, c.values.data() + i * m * n, n);
    }
    return success();
  }

  /// The offsets in x, whose batch broadcasts, of each matrix of the result's batch.
  static std::vector<int64_t> matrixOffsets(const HostTensor &x, ArrayRef<int64_t> batch) {
    SmallVector<int64_t> own = stridesOf(x.shape), strides(batch.size(), 0);
    size_t matrices = x.shape.size() - 2, offset = batch.size() - matrices;
    for (size_t i = 0; i < matrices; ++i)
      strides[offset + i] = x.shape[i] == 1 ? 0 : own[i];
    std::vector<int64_t> result;
    walkStrided(batch, strides, 0, [&](int64_t, int64_t at) { result.push_back(at); });
    return result;
  }
};

/// A convolution with its spatial dimensions filled up to three.
struct ConvGeometry {
  int64_t samples, groups, inChannels, outChannels; // channels per group
  // The order in which the weight stores its taps: true is channels within positions, false is positions
  // within channels.
  bool channelsInside;
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];
  // The strides of x and y, in elements.
  int64_t xSample, xChannel, xSpace[3], ySample, yChannel, ySpace[3];

  template <typename OpT>
  ConvGeometry(OpT op, ArrayRef<int64_t> x, ArrayRef<int64_t> w, ArrayRef<int64_t> y) {
    int64_t spatial = x.size() - 2, c = channelAxis(op.getLayout(), x.size()), s = spatialAxis(op.getLayout());
    SmallVector<int64_t> xStrides = stridesOf(x), yStrides = stridesOf(y);
    samples = x[0];
    groups = op.getGroups();
    channelsInside = op.getWeightChannelsLast();
    int64_t firstTap = channelsInside ? 1 : 2;
    inChannels = channelsInside ? w.back() : w[1];
    outChannels = w[0] / groups;
    xSample = xStrides[0], xChannel = xStrides[c], ySample = yStrides[0], yChannel = yStrides[c];
    for (int64_t d = 0; d < 3; ++d) {
      bool real = d < spatial;
      in[d] = real ? x[s + d] : 1;
      out[d] = real ? y[s + d] : 1;
      kernel[d] = real ? w[firstTap + d] : 1;
      stride[d] = real ? op.getStrides()[d] : 1;
      dilation[d] = real ? op.getDilations()[d] : 1;
      pad[d] = real ? op.getPadLow()[d] : 0;
      xSpace[d] = real ? xStrides[s + d] : 0;
      ySpace[d] = real ? yStrides[s + d] : 0;
    }
  }
  int64_t positions() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return inChannels * kernel[0] * kernel[1] * kernel[2]; }
  int64_t weightsOfGroup() const { return outChannels * taps(); }

  /// Calls fn(row, position, x offset) for each tap and output position that reads an element inside x; `row`
  /// is the row of [taps, positions].
  template <typename Fn>
  void walkColumns(int64_t sample, int64_t group, Fn &&fn) const {
    int64_t window = kernel[0] * kernel[1] * kernel[2];
    for (int64_t c = 0; c < inChannels; ++c)
      for (int64_t k0 = 0; k0 < kernel[0]; ++k0)
        for (int64_t k1 = 0; k1 < kernel[1]; ++k1)
          for (int64_t k2 = 0; k2 < kernel[2]; ++k2) {
            int64_t tap = (k0 * kernel[1] + k1) * kernel[2] + k2;
            int64_t row = channelsInside ? tap * inChannels + c : c * window + tap;
            int64_t base = sample * xSample + (group * inChannels + c) * xChannel;
            for (int64_t o0 = 0, p = 0; o0 < out[0]; ++o0)
              for (int64_t o1 = 0; o1 < out[1]; ++o1)
                for (int64_t o2 = 0; o2 < out[2]; ++o2, ++p) {
                  int64_t i0 = o0 * stride[0] + k0 * dilation[0] - pad[0],
                          i1 = o1 * stride[1] + k1 * dilation[1] - pad[1],
                          i2 = o2 * stride[2] + k2 * dilation[2] - pad[2];
                  if (uint64_t(i0) < uint64_t(in[0]) && uint64_t(i1) < uint64_t(in[1]) &&
                      uint64_t(i2) < uint64_t(in[2]))
                    fn(row, p, base + i0 * xSpace[0] + i1 * xSpace[1] + i2 * xSpace[2]);
                }
          }
  }
  /// x as [taps, positions] for one sample and group; zeros in the padding.
  void columns(const HostTensor &x, int64_t sample, int64_t group, std::vector<double> &result) const {
    int64_t p = positions();
    result.assign(taps() * p, 0);
    walkColumns(sample, group, [&](int64_t row, int64_t at, int64_t from) { result[row * p + at] = x.values[from]; });
  }
  /// Calls fn(i, offset in y) for each output channel of the group and each position.
  template <typename Fn>
  void walkOutput(int64_t sample, int64_t group, Fn &&fn) const {
    for (int64_t o = 0, i = 0; o < outChannels; ++o)
      for (int64_t o0 = 0; o0 < out[0]; ++o0)
        for (int64_t o1 = 0; o1 < out[1]; ++o1)
          for (int64_t o2 = 0; o2 < out[2]; ++o2, ++i)
            fn(i, sample * ySample + (group * outChannels + o) * yChannel + o0 * ySpace[0] + o1 * ySpace[1] +
                      o2 * ySpace[2]);
  }
  /// y as [outChannels, positions].
  std::vector<double> output(const HostTensor &y, int64_t sample, int64_t group) const {
    std::vector<double> result(outChannels * positions());
    walkOutput(sample, group, [&](int64_t i, int64_t at) { result[i] = y.values[at]; });
    return result;
  }
};

struct ConvModel : EvalModel<ConvModel, ConvOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const HostTensor &x = e.operands[0], &w = e.operands[1];
    HostTensor &y = e.results[0];
    ConvGeometry g(cast<ConvOp>(op), x.shape, w.shape, y.shape);
    std::vector<double> columns, product;
    for (int64_t n = 0; n < g.samples; ++n)
      for (int64_t group = 0; group < g.groups; ++group) {
        g.columns(x, n, group, columns);
        product.assign(g.outChannels * g.positions(), 0);
        gemmAdd(g.outChannels, g.positions(), g.taps(), w.values.data() + group * g.weightsOfGroup(), g.taps(),
                columns.data(), g.positions(), product.data(), g.positions());
        g.walkOutput(n, group, [&](int64_t i, int64_t at) { y.values[at] = product[i]; });
      }
    return success();
  }
};

struct ConvInputGradModel : EvalModel<ConvInputGradModel, ConvInputGradOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const HostTensor &dy = e.operands[0], &w = e.operands[1];
    HostTensor &dx = e.results[0];
    ConvGeometry g(cast<ConvInputGradOp>(op), dx.shape, w.shape, dy.shape);
    int64_t positions = g.positions();
    std::vector<double> columns;
    for (int64_t group = 0; group < g.groups; ++group) {
      std::vector<double> wt = transposed(w.values.data() + group * g.weightsOfGroup(), g.outChannels, g.taps());
      for (int64_t n = 0; n < g.samples; ++n) {
        std::vector<double> cotangent = g.output(dy, n, group);
        columns.assign(g.taps() * positions, 0);
        gemmAdd(g.taps(), positions, g.outChannels, wt.data(), g.outChannels, cotangent.data(), positions,
                columns.data(), positions);
        g.walkColumns(n, group,
                      [&](int64_t row, int64_t p, int64_t at) { dx.values[at] += columns[row * positions + p]; });
      }
    }
    return success();
  }
};

struct ConvWeightGradModel : EvalModel<ConvWeightGradModel, ConvWeightGradOp> {
  LogicalResult evaluate(Operation *op, Evaluation &e) const {
    const HostTensor &x = e.operands[0], &dy = e.operands[1];
    HostTensor &dw = e.results[0];
    ConvGeometry g(cast<ConvWeightGradOp>(op), x.shape, dw.shape, dy.shape);
    std::vector<double> columns;
    for (int64_t n = 0; n < g.samples; ++n)
      for (int64_t group = 0; group < g.groups; ++group) {
        g.columns(x, n, group, columns);
        std::vector<double> columnsT = transposed(columns.data(), g.taps(), g.positions());
        std::vector<double> cotangent = g.output(dy, n, group);
        gemmAdd(g.outChannels, g.taps(), g.positions(), cotangent.data(), g.positions(), columnsT.data(), g.taps(),
                dw.values.data() + group * g.weightsOfGroup(), g.taps());
      }
    return success();
  }
};
} // namespace

void mpc::attachMatmulModels(MLIRContext &c) {
  MatMulOp::attachInterface<MatMulModel>(c);
  ConvOp::attachInterface<ConvModel>(c);
  ConvInputGradOp::attachInterface<ConvInputGradModel>(c);
  ConvWeightGradOp::attachInterface<ConvWeightGradModel>(c);
}
