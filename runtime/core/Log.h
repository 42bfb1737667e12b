// The machine-readable log of a training: one JSON object per line.
#pragma once

#include "runtime/core/Evaluate.h"
#include "runtime/core/StepLoop.h"

#include <cstdio>
#include <string>

namespace mpc::rt {

/// A step's line:
///   {"step": 12, "epoch": 0, "loss": …, "lr": …, "scale": …, "skipped": false, "samples_per_s": …}
/// "scale" and "skipped" with a scaler; "steps": {name: {loss, lr, …}} with several optimizers, whose first is
/// repeated at the top. A loss that is not finite is null.
///
/// An evaluation's line:
///   {"step": 937, "epoch": 0, "val_loss": …, "accuracy": …, "correct": …, "counted": …, "val_samples": …}
///
/// Every line is flushed as it is written.
class RunLog {
public:
  /// Replaces the file, or with `keepBelow` >= 0 (a resumed training) keeps its lines whose step is at most
  /// that number. An empty path logs nothing. Throws Error when the file cannot be written, or another training
  /// writes it.
  RunLog(const std::string &path, int64_t keepBelow = -1);
  ~RunLog();
  RunLog(const RunLog &) = delete;
  RunLog &operator=(const RunLog &) = delete;

  /// `step` counts from 1: steps done. Throws Error when the disk is full.
  void step(int64_t step, int64_t epoch, const StepLoop &loop, const std::vector<StepReport> &reports,
            double samplesPerSecond);
  /// {"step": 12, "note": "…"}.
  void note(int64_t step, const std::string &text);
  void evaluation(int64_t step, int64_t epoch, const Evaluation &evaluation);

private:
  void line(const std::string &text);
  std::string path_;
  std::FILE *file_ = nullptr;
};

} // namespace mpc::rt
