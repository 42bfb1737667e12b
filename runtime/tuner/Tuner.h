// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures the schedules of a model's matrix products and convolutions on a device.
#pragma once

#include "runtime/core/Program.h"
#include "runtime/tuner/Measure.h"

#include <optional>
#include <regex>

namespace mpc::rt {

struct TunerOptions {
  std::string device = "cuda"; // or emulator
  std::string arch;            // emulator: architecture of the plan
  std::string only;            // a regular expression that selects the problems; "": all
  Effort effort;
};

struct Candidate {
  std::string entry, schedule;
  double estimate = 0;           // seconds that the compiler expects
  std::optional<double> seconds; // measured seconds; none if the candidates differ in their results
};

struct TunedProblem {
  std::string problem, dispatch;
  double flops = 0, roofline = 0; // roofline in seconds
  std::vector<Candidate> candidates;
  std::string clocks; // of the GPU right after the measurement; "" if nvidia-smi is missing
};

struct TuningResult {
  std::string gpu, target;
  std::string clocksBefore, clocksAfter;
  std::vector<TunedProblem> problems;
  /// Returns whether all candidates computed the same.
  bool agree() const;
};

/// Returns the problems of a plan, not yet measured. Throws Error when the section is damaged or `only`
/// selects no problem.
std::vector<TunedProblem> problemsOf(const Program &program, const Plan &plan, const std::string &only);
/// Returns the plan that tune() would take.
const Plan &planToTune(const Program &program, const TunerOptions &options);

/// Measures all problems; calls `done` for each problem as soon as it is measured. Throws Error.
TuningResult tune(const Program &program, const TunerOptions &options,
                  const std::function<void(const TunedProblem &)> &done);

/// Returns text for people: a table of one problem.
std::string describe(const TunedProblem &problem);
/// Returns the file that `mpc compile --tune` reads (runtime/abi/README.md).
std::string tuningFile(const TuningResult &result);

} // namespace mpc::rt
