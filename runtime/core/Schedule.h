// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learning rate as a function of the iteration counter.
#pragma once

#include <cstdint>
#include <string>

namespace mpc::rt {

struct Schedule {
  enum Kind { Constant, Step, Cosine, Linear } kind = Constant;
  int64_t total = 1;  // iterations of the whole training
  int64_t warmup = 0; // iterations of linear growth from base/warmup to base; the schedule of `kind` begins after them
  int64_t stepSize = 0;   // Step: iterations between decays
  double stepGamma = 0.1; // Step: factor of each decay
  double minRate = 0;     // lower bound of the rate, for all kinds but Constant

  /// The rate for t = iteration - warmup and T = total - warmup is
  ///   constant  base
  ///   step      base * gamma^floor(t / stepSize)
  ///   cosine    min + (base - min) * (1 + cos(pi t / T)) / 2     (SGDR, arXiv 1608.03983, eq. 5)
  ///   linear    base + (min - base) * t / T
  double rate(double base, int64_t iteration) const;

  /// Parses "constant", "step", "cosine" or "linear"; throws Error for another name.
  static Kind kindOf(const std::string &name);
};

} // namespace mpc::rt
