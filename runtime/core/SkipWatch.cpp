// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/SkipWatch.h"

#include <cmath>

namespace mpc::rt {

/// At a smaller scale an f16 gradient has no bits left.
static constexpr double kSmallestScale = 0x1p-14;

void SkipWatch::take(const IterationReport &done) {
  for (size_t i = 0; i < counts_.size(); ++i) {
    const StepReport &report = done.steps[i];
    const Step &step = manifest_.steps[i];
    Count &count = counts_[i];
    count.grew = false;
    if (!report.ran)
      continue;
    bool due = step.updates(done.iteration); // other batches are only accumulated
    if (report.overflowed)
      count.stuck = report.scaleAfter >= report.scale ? count.stuck + 1 : 0;
    bool atFloor = report.overflowed && (report.scaleAfter < kSmallestScale || count.stuck >= step.scaler->hysteresis);
    count.grew = !std::isfinite(report.loss) || atFloor;
    count.skipped += report.skipped;
    if (count.grew) {
      ++count.lost;
    } else if (due && !report.skipped) {
      count.lost = count.stuck = 0;
      ++count.updates;
    }
  }
}

} // namespace mpc::rt
