// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures how fast a program's training steps are on this machine.
#pragma once

#include "runtime/core/Session.h"

#include <string>

namespace mpc::rt {

struct BenchOptions {
  int64_t steps = 100;  // timed steps
  int64_t warmup = 10;  // steps before them
  bool profile = false; // also time every launch (one clock read each)
};

struct LaunchTime {
  std::string entry, name, loc;
  std::string kind;    // "conv", "pointwise", ...; empty if the plan does not say
  std::string library; // what executes a library's call, such as "oneDNN jit:avx2"; empty for a kernel
  double seconds = 0;  // mean per step
  int64_t bytes = 0;   // that it reads and writes; 0 if the plan does not say
  double flops = 0;    // of a product
};

struct BenchResult {
  std::vector<double> seconds;      // of each timed step, including copying the inputs in and reading the loss back
  int64_t residentBytes = 0;        // of the process after the third step; 0 if the system does not say
  double loss = 0;                  // of the first optimizer, before its last update
  std::vector<LaunchTime> launches; // slowest first; only with `profile`

  double median() const;
  double minimum() const;
};

/// Returns the bytes of the process that are in memory now; 0 if the system does not say.
int64_t residentBytes();

/// Trains on one made-up batch: floats are normal, labels uniform below their class count. Throws Error for a
/// program that cannot train.
BenchResult bench(Session &session, const BenchOptions &options);

/// Returns text for people, or one JSON object. `residentBefore`: residentBytes() before the session was made.
std::string describeBench(const Session &session, const BenchResult &result, int64_t residentBefore, bool json);

} // namespace mpc::rt
