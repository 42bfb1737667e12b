// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Epoch.h"

#include "runtime/core/Progress.h"
#include "runtime/support/Error.h"

#include <cmath>
#include <limits>

namespace mpc::rt {

void Epoch::begin(size_t optimizers, double seconds) {
  losses_.assign(optimizers, {});
  steps_ = 0;
  began_ = seconds;
}

void Epoch::add(const IterationReport &done) {
  for (size_t i = 0; i < done.steps.size(); ++i) {
    if (double loss = done.steps[i].loss; done.steps[i].ran && std::isfinite(loss)) {
      losses_[i].sum += loss;
      ++losses_[i].count;
    }
  }
  rate_ = done.steps[0].rate;
  newest_ = done.iteration;
  ++steps_;
}

std::string Epoch::text(const StepLoop &loop, int64_t perEpoch, int64_t batch, double seconds,
                        std::optional<double> secondsLeft, size_t columns) const {
  std::string text;
  for (size_t i = 0; i < losses_.size(); ++i) {
    const Loss &loss = losses_[i];
    // A step that runs on each K-th batch does not run equally often in all epochs.
    const int64_t begin = newest_ / perEpoch * perEpoch, every = loop.every(i);
    const int64_t all = (begin + perEpoch) / every - begin / every;
    if (all == 0)
      continue;
    text += concat("  loss", i == 0 ? "" : "/" + loop.name(i), " ",
                   loss.count > 0 ? loss.sum / double(loss.count) : std::numeric_limits<double>::quiet_NaN(), " (mean");
    text += loss.count == all ? ")" : concat(" of ", loss.count, " of ", all, " steps)");
  }
  seconds -= began_;
  text += concat("  lr ", rate_, "  ", clockText(seconds));
  if (secondsLeft)
    text += "  left " + clockText(*secondsLeft);
  std::string speed = concat("  ", int64_t(seconds > 0 ? double(steps_ * batch) / seconds : 0), " samples/s");
  return columns == 0 || text.size() + speed.size() <= columns ? text + speed : text;
}

} // namespace mpc::rt
