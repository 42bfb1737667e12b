// `train`: epochs of steps with schedule, log, evaluation, checkpoints and resume.
#pragma once

#include "runtime/core/Schedule.h"
#include "runtime/core/Session.h"
#include "runtime/core/data/Dataset.h"

#include <csignal>
#include <map>
#include <optional>
#include <set>

namespace mpc::rt {

/// What to do about steps whose loss is not finite, or whose gradients are not whatever the loss scale.
enum class OnNan {
  Stop,   // after 10 in a row
  Skip,   // leave them out and go on
  Ignore, // update with them, as without any check of the loss
};

struct TrainOptions {
  DataOptions data;
  std::vector<std::string> validation; // files, scaled and normalized as the training data; may be empty
  int64_t epochs = 1;
  int64_t steps = 0;                   // 0: epochs decide
  std::map<std::string, double> hyper; // see StepLoop
  Schedule schedule;                   // its total is set here
  bool shuffle = true;
  uint64_t seed = 0;
  std::string init;             // safetensors with parameters to start from
  std::string initMissing;      // regular expression: parameters that the file may lack (PartialInit)
  std::string log;              // JSON lines
  int64_t logEvery = 50;        // steps
  int64_t evalEvery = 1;        // epochs
  std::string checkpointFolder; // empty: no checkpoints
  int64_t checkpointEvery = 0;  // steps; 0: at the end of each epoch
  int64_t keep = 3;             // checkpoints; 0: all
  bool resume = false;
  OnNan onNan = OnNan::Stop;
  /// For tests: at these iterations (from 1) the first element of every float input becomes infinite, so
  /// that the gradients of that step are not finite.
  std::set<int64_t> injectInf;
  /// Becomes non-zero when the user interrupts; may be null.
  const volatile std::sig_atomic_t *interrupted = nullptr;
};

struct TrainResult {
  int64_t iterations = 0;       // done, those of earlier runs included
  std::vector<int64_t> skipped; // steps in this run, of each optimizer
  int64_t updates = 0;          // in this run, of all optimizers
  std::optional<double> loss;   // of the last step, when this run did one
  bool interrupted = false;
};

/// Trains the session's program. Throws Error for mistakes of the user and when steps cannot be used (OnNan).
TrainResult train(Session &session, const TrainOptions &options);

} // namespace mpc::rt
