// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts, for each optimizer, the steps that a training cannot use.
#pragma once

#include "runtime/core/StepLoop.h"

namespace mpc::rt {

/// A step is lost when its loss is not finite, or when its gradients are not finite and the loss scale can shrink no
/// further: it is fixed, at its bound, or so small that nothing is left of the gradients. Skips that let a dynamic
/// scale fall to its proper value do not count.
class SkipWatch {
public:
  explicit SkipWatch(const Manifest &manifest) : manifest_(manifest), counts_(manifest.steps.size()) {}

  struct Count {
    int64_t lost = 0;    // lost steps in a row
    int64_t skipped = 0; // skipped steps of this run
    int64_t updates = 0; // steps of this run that updated the parameters
    int64_t stuck = 0;   // overflows in a row that did not change the scale
    bool grew = false;   // whether the newest step is lost
  };
  /// Counts an iteration's reports.
  void take(const IterationReport &done);
  const std::vector<Count> &counts() const { return counts_; }

private:
  const Manifest &manifest_;
  std::vector<Count> counts_;
};

} // namespace mpc::rt
