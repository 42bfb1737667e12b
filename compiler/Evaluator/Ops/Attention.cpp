//===- Attention.cpp - models of attention and its gradient ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Evaluator/Ops/Models.h"
#include "compiler/Evaluator/Ops/Words.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;

namespace {

/// One evaluation of an attention or of its gradient. A row is a query of a head of a sample, all of which are counted.
template <typename OpT>
struct Heads {
  OpT op;
  const Evaluation &e;
  const HostTensor &q, &k, &v;
  int64_t rowsOfHead, keys, depth, width, group; ///< M, N, D, V, H/K
  double scale, fill = -INFINITY, lowest;        ///< the lowest finite number of the statistics' type
  std::optional<int64_t> before, after;
  std::vector<double> maskStorage, biasStorage;
  const std::vector<double> *mask = nullptr, *bias = nullptr; ///< for all scores
  std::optional<Words> words;

  Heads(OpT op, const Evaluation &e)
      : op(op), e(e), q(e.operands[0]), k(e.operands[1]), v(e.operands[2]), rowsOfHead(q.shape[2]), keys(k.shape[2]),
        depth(q.shape[3]), width(v.shape[3]), group(q.shape[1] / k.shape[1]), scale(op.getScale().convertToDouble()) {
    bool isF64 = elementOf(op.getLargest()).isF64();
    lowest = isF64 ? -DBL_MAX : -FLT_MAX;
    if (op.getFill())
      fill = isF64 ? op.getFill()->convertToDouble() : double(float(op.getFill()->convertToDouble()));
    before = op.getBefore(), after = op.getAfter();
    Shape scores{q.shape[0], q.shape[1], q.shape[2], keys};
    size_t next = 3;
    if (op.getMask())
      mask = &broadcastValues(e.operands[next++], scores, maskStorage);
    if (op.getBias())
      bias = &broadcastValues(e.operands[next++], scores, biasStorage);
    if (op.getSeed())
      words.emplace(e.operands[next], e.operands[next + 1], *op.getSalt());
  }

  int64_t rows() const { return q.shape[0] * q.shape[1] * rowsOfHead; }
  /// Where key n of the row's head begins, in elements of a tensor that has `extent` for each key.
  int64_t keyAt(int64_t row, int64_t n, int64_t extent) const {
    int64_t head = row / rowsOfHead, sample = head / q.shape[1], ofKeys = head % q.shape[1] / group;
    return ((sample * k.shape[1] + ofKeys) * keys + n) * extent;
  }
  bool sees(int64_t row, int64_t n) const {
    int64_t m = row % rowsOfHead;
    return (!before || n >= m - *before) && (!after || n <= m + *after) && (!mask || (*mask)[row * keys + n] != 0);
  }
  double score(int64_t row, int64_t n) const {
    if (!sees(row, n))
      return fill;
    double sum = 0;
    for (int64_t i = 0, at = keyAt(row, n, depth); i < depth; ++i)
      sum += q.values[row * depth + i] * k.values[at + i];
    return scale * sum + (bias ? (*bias)[row * keys + n] : 0);
  }
  /// Returns the number that the dropout multiplies p by.
  double kept(int64_t row, int64_t n) {
    if (!words)
      return 1;
    double ratio = op.getRatio()->convertToDouble();
    return double((*words)[row * keys + n]) * 0x1p-32 >= ratio ? 1 / (1 - ratio) : 0;
  }
};

struct AttentionModel : EvalModel<AttentionModel, AttentionOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    Heads heads(cast<AttentionOp>(operation), e);
    std::vector<double> p(heads.keys);
    for (int64_t row = 0; row < heads.rows(); ++row) {
      double largest = heads.lowest, sum = 0;
      for (int64_t n = 0; n < heads.keys; ++n)
        largest = std::max(largest, p[n] = heads.score(row, n));
      for (double &number : p)
        sum += number = std::exp(number - largest);
      bool none = heads.op.getZeroRows() && sum == 0;
      double *y = e.results[0].values.data() + row * heads.width;
      for (int64_t n = 0; n < heads.keys; ++n)
        for (int64_t i = 0, at = heads.keyAt(row, n, heads.width); i < heads.width; ++i)
          y[i] += none ? 0 : p[n] / sum * heads.kept(row, n) * heads.v.values[at + i];
      e.results[1].values[row] = largest;
      e.results[2].values[row] = none ? INFINITY : std::log(sum);
    }
    return success();
  }
};

struct AttentionGradModel : EvalModel<AttentionGradModel, AttentionGradOp> {
  LogicalResult evaluate(Operation *operation, Evaluation &e) const {
    Heads heads(cast<AttentionGradOp>(operation), e);
    ArrayRef<HostTensor> last = e.operands.take_back(4);
    const std::vector<double> &largest = last[0].values, &logSum = last[1].values;
    const std::vector<double> &delta = last[2].values, &dy = last[3].values;
    auto &dq = e.results[0].values, &dk = e.results[1].values, &dv = e.results[2].values;
    int64_t depth = heads.depth, width = heads.width;
    std::vector<double> dbias(heads.op.getDbias() ? heads.rows() * heads.keys : 0);
    for (int64_t row = 0; row < heads.rows(); ++row) {
      for (int64_t n = 0; n < heads.keys; ++n) {
        double p = std::exp(heads.score(row, n) - largest[row] - logSum[row]), kept = heads.kept(row, n), dp = 0;
        for (int64_t i = 0, at = heads.keyAt(row, n, width); i < width; ++i) {
          dp += dy[row * width + i] * heads.v.values[at + i];
          dv[at + i] += p * kept * dy[row * width + i];
        }
        double ds = heads.sees(row, n) || !heads.op.getFill() ? p * (dp * kept - delta[row]) : 0;
        if (heads.op.getDbias())
          dbias[row * heads.keys + n] = ds;
        ds *= heads.scale;
        for (int64_t i = 0, at = heads.keyAt(row, n, depth); i < depth; ++i) {
          dq[row * depth + i] += ds * heads.k.values[at + i];
          dk[at + i] += ds * heads.q.values[row * depth + i];
        }
      }
    }
    if (heads.op.getDbias()) {
      HostTensor &sum = e.results[3];
      SmallVector<int64_t> strides = stridesOf(sum.shape);
      for (int64_t dim = 0; dim < 4; ++dim)
        if (sum.shape[dim] == 1)
          strides[dim] = 0;
      walkStrided({heads.q.shape[0], heads.q.shape[1], heads.rowsOfHead, heads.keys}, strides, 0,
                  [&](int64_t i, int64_t at) { sum.values[at] += dbias[i]; });
    }
    return success();
  }
};

} // namespace

void mpc::attachAttentionModels(MLIRContext &c) {
  AttentionOp::attachInterface<AttentionModel>(c);
  AttentionGradOp::attachInterface<AttentionGradModel>(c);
}
