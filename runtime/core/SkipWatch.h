// Counts the steps that a training cannot use, for each optimizer.
#pragma once

#include "runtime/core/StepLoop.h"

namespace mpc::rt {

/// A step is lost when its loss is not finite, or when its gradients are not and the loss scale can shrink no further: it is fixed, at its
/// bound, or too small for anything to be left of the gradients. Skips while a dynamic scale falls to its place do not count.
class SkipWatch {
public:
  explicit SkipWatch(const Manifest &manifest) : manifest_(manifest), counts_(manifest.steps.size()) {}

  struct Count {
    int64_t lost = 0;    // steps in a row
    int64_t skipped = 0; // steps of this run
    int64_t updates = 0; // those that were not
    int64_t stuck = 0;   // overflows in a row that left the scale as it was
    bool grew = false;   // whether the newest step is lost
  };
  /// Takes an iteration's reports.
  void take(const IterationReport &done);
  const std::vector<Count> &counts() const { return counts_; }

private:
  const Manifest &manifest_;
  std::vector<Count> counts_;
};

} // namespace mpc::rt
