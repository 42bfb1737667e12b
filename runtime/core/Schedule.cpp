// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Schedule.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace mpc::rt {

Schedule::Kind Schedule::kindOf(const std::string &name) {
  const char *names[] = {"constant", "step", "cosine", "linear"};
  for (int kind = Constant; kind <= Linear; ++kind)
    if (name == names[kind])
      return Kind(kind);
  fail("--schedule", "unknown schedule '" + name + "'", "use constant, step, cosine or linear");
}

double Schedule::rate(double base, int64_t iteration) const {
  if (iteration < warmup)
    return base * double(iteration + 1) / double(warmup);
  if (kind == Constant)
    return base;
  int64_t t = iteration - warmup;
  if (kind == Step)
    return std::max(std::min(minRate, base), base * std::pow(stepGamma, double(t / std::max<int64_t>(stepSize, 1))));
  double progress = std::min(1.0, double(t) / double(std::max<int64_t>(total - warmup, 1)));
  double floor = std::min(minRate, base);
  if (kind == Cosine)
    return floor + (base - floor) * (1 + std::cos(std::numbers::pi * progress)) / 2;
  return base + (floor - base) * progress;
}

} // namespace mpc::rt
