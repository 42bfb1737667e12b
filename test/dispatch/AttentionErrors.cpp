// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionErrors.h"
#include "compiler/Evaluator/Ops/Words.h"
#include "dialects/Graph/IR/AttentionForm.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::graph;
using namespace mpc::test;

namespace {

class Computation {
public:
  Computation(Operation *op, ArrayRef<HostTensor> operands)
      : grad(dyn_cast<AttentionGradOp>(op)),
        form(grad ? AttentionForm::of(grad) : AttentionForm::of(cast<AttentionOp>(op))), operands(operands),
        depth(shapeOf(form.q)[3]), width(shapeOf(form.v)[3]), s(form.keys()), p(form.keys()), ofP(form.keys()),
        hidden(form.keys()) {
    bool half = elementOf(form.q).isF16();
    unit = half ? 0x1p-11 : 0x1p-8;
    least = half ? 0x1p-25 : FLT_MIN;
    for (Value v : op->getResults()) {
      numbers.results.emplace_back(typeOf(v).getNumElements());
      numbers.errors.emplace_back(typeOf(v).getNumElements());
    }
    if (form.seed) {
      size_t seed = 3 + bool(form.mask) + bool(form.bias);
      words.emplace(operands[seed], operands[seed + 1], form.salt.getInt());
    }
  }
  AttentionNumbers run();

private:
  double broadcast(size_t operand, Value like, ArrayRef<int64_t> index) const {
    int64_t at = 0;
    for (auto [extent, i] : llvm::zip_equal(shapeOf(like), index))
      at = at * extent + (extent == 1 ? 0 : i);
    return operands[operand].values[at];
  }
  /// The number that a dropout multiplies the probability of the query's key n by.
  double kept(int64_t n) {
    if (!words)
      return 1;
    double ratio = form.ratio.getValueAsDouble();
    return double((*words)[row * form.keys() + n]) * 0x1p-32 >= ratio ? 1 / (1 - ratio) : 0;
  }
  void computeScores(int64_t b, int64_t h, int64_t m);
  void computeProbabilities();
  void forward();
  void backward();
  /// Adds a number, which may be off by `error`, times a factor to an element of a result.
  void add(size_t result, int64_t at, double number, double error, double factor) {
    numbers.results[result][at] += number * factor;
    numbers.errors[result][at] += error * std::abs(factor);
  }

  AttentionGradOp grad;
  AttentionForm form;
  ArrayRef<HostTensor> operands;
  int64_t depth, width;
  double unit, least; ///< the largest relative error of one rounding, and its error of a number near zero
  AttentionNumbers numbers;
  // These belong to one query: its number, that of its first key, and its scores, probabilities and their errors.
  int64_t row = 0, firstKey = 0;
  double largest = 0, logSum = 0;
  std::vector<double> s, p, ofP;
  std::vector<bool> hidden;
  std::optional<Words> words;
};

} // namespace

void Computation::computeScores(int64_t b, int64_t h, int64_t m) {
  row = (b * form.heads() + h) * form.queries() + m;
  firstKey = (b * form.keyHeads() + h / (form.heads() / form.keyHeads())) * form.keys();
  const std::vector<double> &q = operands[0].values, &k = operands[1].values;
  for (int64_t n = 0; n < form.keys(); ++n) {
    int64_t index[] = {b, h, m, n};
    double score = 0, size = 0;
    for (int64_t i = 0; i < depth; ++i) {
      double product = form.scale * q[row * depth + i] * k[(firstKey + n) * depth + i];
      score += product;
      size += std::abs(product);
    }
    if (form.bias) {
      score += broadcast(form.mask ? 4 : 3, form.bias, index);
      size += std::abs(broadcast(form.mask ? 4 : 3, form.bias, index));
    }
    hidden[n] = (form.mask && broadcast(3, form.mask, index) == 0) || (form.before && n < m - *form.before) ||
                (form.after && n > m + *form.after);
    s[n] = hidden[n] ? double(float(form.fill.value_or(-INFINITY))) : score;
    ofP[n] = hidden[n] ? 0 : double(depth + 8) * 0x1p-24 * size; // the error of the score, in f32
  }
}

/// The error of an exponent is the relative error of p, which is at most 1.
void Computation::computeProbabilities() {
  for (int64_t n = 0; n < form.keys(); ++n) {
    double exponent = s[n] - largest - logSum;
    p[n] = std::exp(exponent);
    double relative = ofP[n] + 0x1p-20 + (p[n] > 0 ? 0x1p-22 * (std::abs(s[n] - largest) + std::abs(logSum)) : 0);
    ofP[n] = relative < 0.5 ? 2 * relative * p[n] + least : 1;
  }
}

void Computation::forward() {
  largest = -FLT_MAX;
  double sum = 0, ofScores = 0;
  for (int64_t n = 0; n < form.keys(); ++n) {
    largest = std::max(largest, s[n]);
    ofScores = std::max(ofScores, ofP[n]);
  }
  for (double score : s)
    sum += std::exp(score - largest);
  bool none = form.zeroRows && sum == 0;
  logSum = none ? INFINITY : std::log(sum);
  computeProbabilities();
  const std::vector<double> &v = operands[2].values;
  for (int64_t n = 0; n < form.keys(); ++n)
    for (int64_t i = 0; i < width; ++i)
      add(0, row * width + i, p[n], 2 * ofP[n] + unit * p[n], kept(n) * v[(firstKey + n) * width + i]);
  numbers.results[1][row] = largest;
  numbers.errors[1][row] = ofScores + 0x1p-23 * std::abs(largest);
  numbers.results[2][row] = logSum;
  numbers.errors[2][row] = none ? 0 : 2 * ofScores + 0x1p-18 * (1 + std::abs(logSum));
}

void Computation::backward() {
  size_t last = operands.size();
  largest = operands[last - 4].values[row], logSum = operands[last - 3].values[row];
  double delta = operands[last - 2].values[row];
  computeProbabilities();
  const std::vector<double> &q = operands[0].values, &k = operands[1].values, &v = operands[2].values,
                            &dys = operands[last - 1].values;
  for (int64_t n = 0; n < form.keys(); ++n) {
    double dp = 0, size = std::abs(delta);
    for (int64_t i = 0; i < width; ++i) {
      double dy = dys[row * width + i], product = dy * v[(firstKey + n) * width + i];
      dp += product;
      size += std::abs(product);
      add(2, (firstKey + n) * width + i, p[n], ofP[n] + unit * p[n], kept(n) * dy);
    }
    bool counts = !(hidden[n] && form.fill);
    double ds = counts ? form.scale * p[n] * (kept(n) * dp - delta) : 0;
    size += (kept(n) - 1) * (size - std::abs(delta));
    double ofDs =
        unit * std::abs(ds) + std::abs(form.scale) * (ofP[n] + p[n] * double(width + 4) * 0x1p-23) * size + least;
    for (int64_t i = 0; i < depth; ++i) {
      add(0, row * depth + i, ds, counts ? ofDs : 0, k[(firstKey + n) * depth + i]);
      add(1, (firstKey + n) * depth + i, ds, counts ? ofDs : 0, q[row * depth + i]);
    }
  }
}

AttentionNumbers Computation::run() {
  for (int64_t b = 0; b < form.samples(); ++b)
    for (int64_t h = 0; h < form.heads(); ++h)
      for (int64_t m = 0; m < form.queries(); ++m) {
        computeScores(b, h, m);
        grad ? backward() : forward();
      }
  // The results that have the element type are rounded.
  for (size_t r = 0; r < (grad ? 3 : 1); ++r)
    for (auto [x, error] : llvm::zip_equal(numbers.results[r], numbers.errors[r]))
      error = error * (1 + unit) + unit * std::abs(x) + least;
  return std::move(numbers);
}

AttentionNumbers mpc::test::computeAttention(Operation *op, ArrayRef<HostTensor> operands) {
  return Computation(op, operands).run();
}
