// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Metrics.h"

#include "runtime/support/Error.h"

namespace mpc::rt {

Accuracy::Accuracy(const Metric &metric, const Entry &entry)
    : logits_(entry.output(metric.logits)), labels_(entry.input(metric.labels)), ignored_(metric.ignored) {
  result_.name = metric.name;
  std::string where = concat("metric '", metric.name, "'");
  if (!logits_ || !labels_)
    fail(where, concat("the eval entry has no output '", metric.logits, "' or no input '", metric.labels, "'"),
         "compile the model again");
  const Shape &shape = logits_->shape;
  if (metric.axis < 1 || metric.axis >= int64_t(shape.size()) ||
      elementsOf(shape) != elementsOf(labels_->shape) * shape[size_t(metric.axis)])
    fail(where, concat("logits ", toString(shape), " and labels ", toString(labels_->shape), " do not match"),
         "compile the model again");
  size_t axis = size_t(metric.axis);
  outer_ = elementsOf(std::span(shape).first(axis));
  classes_ = shape[axis];
  inner_ = elementsOf(std::span(shape).subspan(axis + 1));
}

void Accuracy::add(const Session &session, const void *labels, int64_t count, int64_t batch) {
  Tensor logits = session.read(*logits_);
  int64_t positions = outer_ * inner_ * count / batch; // samples come first among the positions
  for (int64_t p = 0; p < positions; ++p) {
    double label = loadDouble(labels_->dtype, labels, size_t(p));
    if (!(label >= 0 && label < double(classes_)) || (ignored_ && label == double(*ignored_)))
      continue;
    size_t base = size_t(p / inner_ * classes_ * inner_ + p % inner_);
    int64_t best = 0;
    double bestValue = logits.at(base);
    for (int64_t c = 1; c < classes_; ++c) {
      double value = logits.at(base + size_t(c * inner_));
      if (value > bestValue) {
        best = c;
        bestValue = value;
      }
    }
    ++result_.counted;
    result_.correct += best == int64_t(label);
  }
}

} // namespace mpc::rt
