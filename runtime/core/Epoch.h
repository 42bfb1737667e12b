// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sums over an epoch's steps, and the line about them.
#pragma once

#include "runtime/core/StepLoop.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc::rt {

/// The steps of the current epoch that this run did.
class Epoch {
public:
  /// `seconds` is the time at which it begins.
  void begin(size_t optimizers, double seconds);
  /// Losses that are not finite are left out.
  void add(const IterationReport &done);
  /// Does not count this time, in which no step ran.
  void leaveOut(double seconds) { began_ += seconds; }
  /// Returns "  loss 0.31 (mean)  lr 0.1  0:12  left 0:48  2171 samples/s" for an epoch of `perEpoch` steps that ends
  /// at `seconds`. The speed is left out where the text would become longer than `columns` (0: any length).
  std::string text(const StepLoop &loop, int64_t perEpoch, int64_t batch, double seconds,
                   std::optional<double> secondsLeft, size_t columns) const;

private:
  struct Loss {
    double sum = 0;
    int64_t count = 0;
  };
  std::vector<Loss> losses_;       // one per optimizer
  int64_t steps_ = 0, newest_ = 0; // number of the epoch's steps; the training's newest step, from 0
  double rate_ = 0, began_ = 0;    // the newest learning rate; the time at which the epoch began
};

} // namespace mpc::rt
