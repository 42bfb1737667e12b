// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The random numbers of a sample.
#pragma once

#include "mpc/data.h"
#include "runtime/support/Random.h"

#include <cstdint>

namespace mpc::images {

/// Random numbers that depend on nothing but the seed, the epoch, the sample, the step among the steps of --augment,
/// and the index: neither the order of the samples nor the number of threads matters.
class Draws {
public:
  Draws(const mpc_draw &draw, int64_t sample, size_t step)
      : seed_(draw.seed), counter_{0, uint32_t(sample), uint32_t(draw.epoch), kStream + uint32_t(step)} {}

  /// Returns a number in [0, 1), a multiple of 2^-32. Each call returns another one.
  double uniform() {
    std::array<uint32_t, 4> counter = counter_;
    counter[0] = index_++;
    return rt::philox(counter, {uint32_t(seed_), uint32_t(seed_ >> 32)})[0] * 0x1p-32;
  }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Returns a whole number in [0, count).
  int below(int64_t count) { return int(uniform() * double(count)); }

private:
  static constexpr uint32_t kStream = 0x61756700; // keeps away from the streams of initial values and dropout
  uint64_t seed_;
  std::array<uint32_t, 4> counter_;
  uint32_t index_ = 0;
};

} // namespace mpc::images
