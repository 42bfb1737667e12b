// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metrics of an evaluation, counted exactly.
#pragma once

#include "runtime/core/Session.h"

namespace mpc::rt {

struct MetricResult {
  std::string name;
  int64_t correct = 0, counted = 0;
  double value() const { return counted ? double(correct) / double(counted) : 0; }
};

/// Accuracy compares the argmax of the logits over the metric's axis (the classes) with the labels. These have the
/// shape of the logits without that axis: one label for each sample, token or pixel. Labels outside [0, C), and the
/// metric's ignored one, are not counted.
class Accuracy {
public:
  /// `logits` is an output and `labels` an input of the same eval entry. Throws Error when the shapes do not match.
  Accuracy(const Metric &metric, const Entry &entry);
  /// Adds the first `count` of `batch` samples of the entry that just ran; `labels` in logical order.
  void add(const Session &session, const void *labels, int64_t count, int64_t batch);
  const MetricResult &result() const { return result_; }
  const Port &labels() const { return *labels_; }

private:
  const Port *logits_, *labels_;
  int64_t outer_ = 1, classes_ = 1, inner_ = 1; // logits as [outer, classes, inner]
  std::optional<int64_t> ignored_;
  MetricResult result_;
};

} // namespace mpc::rt
