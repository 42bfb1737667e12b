// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A training watches its evaluations: it keeps the best checkpoint, ends when nothing improves, and lowers the learning
// rate on a plateau.
#pragma once

#include "runtime/core/Evaluate.h"

#include <optional>
#include <string>

namespace mpc::rt {

/// The best value, over the evaluations of a training, of its loss or of a metric.
class BestValue {
public:
  /// `metric`: "loss" or a metric of the program; `option` is what the user wrote it behind, for messages. A value
  /// counts as better if it is so by more than the share `threshold` of the best one. Throws Error for an unknown
  /// metric, and for one that is no number.
  BestValue(const std::string &option, const std::string &metric, const Session &session, double threshold = 0);

  /// Takes the evaluation after `step` steps and returns whether its value is better than that of every earlier one. A
  /// value that is not finite never is.
  bool take(const Evaluation &evaluation, int64_t step);
  /// Returns the number of evaluations since the best one.
  int64_t waited() const { return waited_; }
  /// Counts the evaluations from here on, as a plateau does when it lowers the rate. `events` counts these calls.
  void beginAnew();
  int64_t events() const { return events_; }
  /// Returns "accuracy 0.93 (step 937)", or "no accuracy" as long as no value was finite.
  std::string text() const;

  /// Returns the state as text without line breaks.
  std::string state() const;
  /// Goes on from a state. Returns false, and changes nothing, if it is that of another metric.
  bool restore(const std::string &state);

  /// Returns whether this best value is better than another one of the same metric.
  bool betterThan(const BestValue &other) const { return other.better(best_); }

private:
  bool better(double value) const;
  std::string metric_;
  bool smaller_; // is better
  double threshold_, best_;
  int64_t step_ = 0, waited_ = 0, events_ = 0;
};

/// Says what a training watches.
struct WatchOptions {
  std::string saveBest;            // the metric whose best checkpoint is kept; empty: none
  int64_t patience = 0;            // evaluations without improvement that end the training; 0: none do
  std::string stopMetric = "loss"; // whose improvement that is
  bool plateau = false;            // whether the learning rate falls on a plateau
  std::string plateauMetric = "loss";
  double plateauFactor = 0.1;   // of each fall
  int64_t plateauPatience = 10; // evaluations without improvement before it
};

/// All watches of a training.
class Watches {
public:
  /// `evaluates` and `saves` say whether there is data to evaluate, and a folder for checkpoints. Throws Error for
  /// options that need what is not there, and for unknown metrics.
  Watches(const WatchOptions &options, const Session &session, bool evaluates, bool saves);

  /// Takes the evaluation after `step` steps and returns whether it is the best so far (WatchOptions::saveBest).
  bool take(const Evaluation &evaluation, int64_t step);
  /// Says why the training ends; "" if it goes on.
  std::string stopText() const;
  /// Returns the factor of the learning rate: that of torch's ReduceLROnPlateau with threshold = 1e-4.
  double rateFactor() const;

  /// Returns the states of all watches as text, for a checkpoint.
  std::string state() const;
  /// Goes on from the state in a checkpoint; `note` receives a line for each watch that the checkpoint does not know.
  void restore(const std::string &state, const NoteSink &note);
  /// Goes on from the best value alone, so that only a better one takes the place of the best checkpoint.
  void restoreBest(const std::string &state);

private:
  /// A best value has one of these uses, and an option asks for each.
  enum Use { Save, Stop, Plateau, Uses };
  static constexpr const char *kOptions[Uses] = {"--save-best", "--early-stop", "--schedule plateau"};
  bool restore(Use use, const std::string &state);

  WatchOptions options_;
  std::optional<BestValue> values_[Uses];
};

} // namespace mpc::rt
