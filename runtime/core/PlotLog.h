// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the log of a training (Log.h) for `plot`.
#pragma once

#include <string>
#include <vector>

namespace mpc::rt {

/// A value over a step, or its place in a picture. A NaN for y interrupts a curve: the log has no finite number.
struct Point {
  double x, y;
};

/// The values of one name, in the order of their steps.
struct LogColumn {
  std::string name; // "loss", "steps.head.loss", "accuracy"
  std::vector<Point> points;
};

/// Everything in a log that is a number; true and false are 1 and 0.
struct TrainingLog {
  std::string path;
  std::vector<LogColumn> steps;       // of the lines of steps
  std::vector<LogColumn> evaluations; // of the lines of evaluations
};

/// Returns the points of a name, none where the log does not have it.
const std::vector<Point> &pointsOf(const std::vector<LogColumn> &columns, const std::string &name);

/// Reads a file of JSON lines, or a table where its name ends in ".csv". Where steps begin again, as in a log that was
/// put together from several, the later lines replace the earlier ones. A last line without its end is left out where
/// it is damaged, because the training may be writing it. Throws Error for a line that is no line of a log, and for a
/// log without steps and evaluations.
TrainingLog readLog(const std::string &path);

} // namespace mpc::rt
