// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine-readable log of a training: one JSON object per line.
#pragma once

#include "runtime/core/Evaluate.h"
#include "runtime/core/StepLoop.h"

#include <cstdio>
#include <string>

namespace mpc::rt {

/// The line of a step is:
///   {"step": 12, "epoch": 0, "loss": …, "lr": …, "scale": …, "skipped": false, "samples_per_s": …}
/// "scale" is present with a scaler; "skipped" if a step may be skipped; "steps": {name: {loss, lr, …}} with several
/// optimizers, the first of which is repeated at the top. A loss that is not finite is null.
///
/// The line of an evaluation is:
///   {"step": 937, "epoch": 0, "val_loss": …, "accuracy": …, "correct": …, "counted": …, "val_samples": …}
///
/// Every line is flushed as it is written.
class RunLog {
public:
  /// Replaces the file. With `keepBelow` >= 0 (a resumed training) it keeps the lines whose step is at most
  /// that number. An empty path logs nothing. Throws Error when the file cannot be written, or when another training
  /// is writing it.
  RunLog(const std::string &path, int64_t keepBelow = -1);
  ~RunLog();
  RunLog(const RunLog &) = delete;
  RunLog &operator=(const RunLog &) = delete;

  /// `step` is the number of steps done, so it counts from 1. Throws Error when the disk is full.
  void step(int64_t step, int64_t epoch, const StepLoop &loop, const std::vector<StepReport> &reports,
            double samplesPerSecond);
  /// Writes {"step": 12, "note": "…"}.
  void note(int64_t step, const std::string &text);
  void evaluation(int64_t step, int64_t epoch, const Evaluation &evaluation);

private:
  void line(const std::string &text);
  std::string path_;
  std::FILE *file_ = nullptr;
};

} // namespace mpc::rt
