// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine-readable log of a training: JSON lines or a CSV table, and TensorBoard's event files.
#pragma once

#include "runtime/core/Evaluate.h"
#include "runtime/core/StepLoop.h"

#include <chrono>
#include <memory>
#include <string>

namespace mpc::rt {

class LogSink;

/// The line of a step is:
///   {"step": 12, "epoch": 1, "time": 3.25, "at": "2026-01-31T12:00:00Z", "loss": …, "lr": …, "grad_norm": …,
///    "scale": …, "skipped": false, "samples_per_s": …}
/// "epoch" counts from 1, as the screen does. "time" is in seconds since this run began, "at" the time of day (UTC).
/// "grad_norm" is present from the first update on, in programs that compute it; "scale" with a scaler; "skipped" if a
/// step may be skipped; "steps": {name: {loss, lr, …}} with several optimizers, the first of which is repeated at the
/// top. A loss and a norm that are not finite are null.
///
/// The line of an evaluation is:
///   {"step": 937, "epoch": 1, "time": …, "at": …, "val_loss": …, "accuracy": …, "correct": …, "counted": …,
///    "val_samples": …}
/// with the value of every metric under its name: null where it is not defined, and the table of `confusion`. "correct"
/// and "counted" are those of "accuracy"; "NAME_nan" is present where scores are NaN.
///
/// A file whose name ends in .csv gets a first line with the names of the columns and the same values as rows; those of
/// several optimizers have names such as "steps.head.loss". What a line lacks, and null, is an empty field.
///
/// An event file holds the numbers of the same lines under the tags that TensorBoard.h lists.
///
/// Every line is flushed as it is written.
class RunLog {
public:
  /// Replaces the file. With `keepBelow` >= 0 (a resumed training) it keeps the lines whose step is at most
  /// that number. An empty path logs nothing. `columns`: those of a CSV file (columnsOf). `tensorBoard`: the folder for
  /// a new event file; empty: none. Throws Error when a file cannot be written, when another training is writing it,
  /// and when it is a table with other columns.
  RunLog(const std::string &path, int64_t keepBelow = -1, const std::vector<std::string> &columns = {},
         const std::string &tensorBoard = {});
  ~RunLog();
  RunLog(const RunLog &) = delete;
  RunLog &operator=(const RunLog &) = delete;

  /// Returns all columns that a training with these optimizers and metrics can fill.
  static std::vector<std::string> columnsOf(const StepLoop &loop, const std::vector<Metric> &metrics);

  /// `step` is the number of steps done, and `epoch` that of the epoch, so both count from 1. Throws Error when the
  /// disk is full.
  void step(int64_t step, int64_t epoch, const StepLoop &loop, const std::vector<StepReport> &reports,
            double samplesPerSecond);
  /// Writes {"step": 12, "note": "…"} and the times.
  void note(int64_t step, const std::string &text);
  void evaluation(int64_t step, int64_t epoch, const Evaluation &evaluation);

private:
  struct Values;
  /// Begins a line with its step, epoch (0: none) and times.
  Values begin(int64_t step, int64_t epoch) const;
  void write(const Values &values);
  std::vector<std::unique_ptr<LogSink>> sinks_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace mpc::rt
