// Forward passes over a whole dataset: loss and metrics, or predictions.
#pragma once

#include "runtime/core/Metrics.h"
#include "runtime/core/data/Batches.h"

#include <functional>
#include <optional>

namespace mpc::rt {

struct Evaluation {
  int64_t samples = 0;
  /// Σ sample_loss / Σ sample_weight; without those outputs the mean over full batches.
  std::optional<double> loss;
  std::vector<MetricResult> metrics;
};

/// Called now and then with the samples done so far.
using ProgressSink = std::function<void(int64_t done)>;

/// Runs the eval entry over the data in order; the last batch is padded and its padding not counted. The
/// session's state does not change.
Evaluation evaluate(Session &session, const Dataset &data, const ProgressSink &progress = {});

/// Runs the predict entry and writes every output of role "output" to an .npz at `path`: outputs whose
/// leading dimension is a multiple of the batch hold one part per sample, others come from the first batch.
void predict(Session &session, const Dataset &data, const std::string &path,
             const ProgressSink &progress = {});

} // namespace mpc::rt
