// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `train`: epochs of steps with schedule, log, evaluation, checkpoints and resume.
#pragma once

#include "runtime/core/Schedule.h"
#include "runtime/core/Session.h"
#include "runtime/core/Watch.h"
#include "runtime/core/data/Dataset.h"

#include <csignal>
#include <map>
#include <optional>
#include <set>

namespace mpc::rt {

/// What to do about steps whose loss is not finite, or whose gradients are not finite at any loss scale.
enum class OnNan {
  Stop,   // stop after 10 such steps in a row
  Skip,   // leave these steps out and go on
  Ignore, // update with them, as if the loss were not checked
};

struct TrainOptions {
  DataOptions data;
  std::vector<std::string> validation; // files, scaled and normalized like the training data; may be empty
  int64_t epochs = 1;
  int64_t steps = 0;                   // total steps; 0: `epochs` decides
  std::map<std::string, double> hyper; // user values, see StepLoop
  Schedule schedule;                   // train() settles it
  bool shuffle = true;
  uint64_t seed = 0;
  std::string init;              // safetensors file with parameters to start from
  std::string initMissing;       // regular expression: parameters that the file may lack (PartialInit)
  std::string log;               // file of JSON lines, or of CSV where its name ends in .csv
  std::string tensorBoard;       // folder for an event file of TensorBoard
  int64_t logEvery = 50;         // in steps
  Span valEvery = Span(1, true); // steps or epochs between evaluations
  std::string checkpointFolder;  // empty: no checkpoints
  int64_t checkpointEvery = 0;   // in steps; 0: at the end of each epoch
  int64_t keep = 3;              // number of checkpoints to keep; 0: all
  bool resume = false;
  /// The options that shape the training beside its data, as typed: "--lr=0.1 --schedule=cosine", or "none".
  /// Checkpoints hold them, and a training that is resumed with others says so. Empty: not known.
  std::string typed;
  std::string taken;  // those of them that the user did not type: they are the checkpoint's
  std::string stored; // all that the checkpoint has, as optionsOfNewest read them
  WatchOptions watch;
  OnNan onNan = OnNan::Stop;
  /// For tests: at these iterations (counted from 1) the first element of every float input becomes infinite, so
  /// that the gradients of that step are not finite.
  std::set<int64_t> injectInf;
  /// Becomes non-zero when the user interrupts the training; may be null.
  const volatile std::sig_atomic_t *interrupted = nullptr;
};

struct TrainResult {
  int64_t iterations = 0;       // iterations done, including those of earlier runs
  std::vector<int64_t> skipped; // skipped steps of this run, per optimizer
  int64_t updates = 0;          // updates of this run, of all optimizers
  std::optional<double> loss;   // of the last step, if this run did one
  bool interrupted = false;
  bool stoppedEarly = false; // nothing improved (WatchOptions::patience)
};

/// Returns the options in TrainOptions::typed one by one: {"--lr=0.1", "--schedule=cosine"}.
std::vector<std::string> optionsIn(const std::string &typed);

/// Trains the session's program. Throws Error for mistakes of the user, and when steps cannot be used (OnNan).
TrainResult train(Session &session, const TrainOptions &options);

} // namespace mpc::rt
