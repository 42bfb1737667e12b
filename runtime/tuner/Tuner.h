// Measures the schedules of a model's matrix products and convolutions on a device.
#pragma once

#include "runtime/core/Program.h"
#include "runtime/tuner/Measure.h"

#include <optional>
#include <regex>

namespace mpc::rt {

struct TunerOptions {
  std::string device = "cuda"; // or emulator
  std::string arch;            // emulator: which plan
  std::string only;            // a regular expression that the problems are found by; "": all
  Effort effort;
};

struct Candidate {
  std::string entry, schedule;
  double estimate = 0;           // s: what the compiler expects
  std::optional<double> seconds; // measured; none where the candidates differ in their results
};

struct TunedProblem {
  std::string problem, dispatch;
  double flops = 0, roofline = 0; // roofline: s
  std::vector<Candidate> candidates;
  std::string clocks; // of the GPU right behind the measurement; "" where nvidia-smi is missing
};

struct TuningResult {
  std::string gpu, target;
  std::string clocksBefore, clocksAfter;
  std::vector<TunedProblem> problems;
  /// Whether all candidates computed the same.
  bool agree() const;
};

/// The problems of a plan, not measured. Throws Error when the section is damaged or no problem is meant.
std::vector<TunedProblem> problemsOf(const Program &program, const Plan &plan, const std::string &only);
/// The plan that tune() would take.
const Plan &planToTune(const Program &program, const TunerOptions &options);

/// Measures; `done` sees each problem when it is. Throws Error.
TuningResult tune(const Program &program, const TunerOptions &options,
                  const std::function<void(const TunedProblem &)> &done);

/// Text for people: a table of one problem.
std::string describe(const TunedProblem &problem);
/// The file that `mpc compile --tune` reads (runtime/abi/README.md).
std::string tuningFile(const TuningResult &result);

} // namespace mpc::rt
