// One training iteration: the entries of all optimizers on one batch, and what is to be said about it.
#pragma once

#include "runtime/core/Schedule.h"
#include "runtime/core/data/Batches.h"

#include <map>
#include <optional>

namespace mpc::rt {

/// What one optimizer did in an iteration.
struct StepReport {
  double loss = 0;  // unscaled, before the update
  double rate = 0;  // learning rate
  double scale = 1; // the loss scale that this iteration used
  bool skipped = false;
  /// Where torch's GradScaler, which knows no bounds, would have put the scale; absent when no bound acted.
  std::optional<double> unbounded;
};

class StepLoop {
public:
  /// `hyper`: user values by name ("lr") or by step and name ("main.lr"); the others keep their defaults.
  /// Throws Error for names that no step has and for a program without train entries.
  /// `gradients`: run the trace entries, whose outputs hold the gradients too, where the program has them.
  StepLoop(Session &session, const std::map<std::string, double> &hyper, const Schedule &schedule,
           bool gradients = false);

  /// Changes a hyperparameter ("lr" or "main.lr") from the next iteration on. Throws Error for a name that no step has.
  void setHyper(const std::string &name, double value);
  void setSchedule(const Schedule &schedule) { schedule_ = schedule; }
  /// The train entries in order, one per optimizer.
  const std::vector<const Entry *> &entries() const { return entries_; }
  const std::string &name(size_t step) const { return steps_[step].step->name; }
  bool hasScaler() const;
  /// The loss scale of a step with a scaler, as it is now.
  double scale(size_t step) const;

  /// Writes the hyperparameters of the iteration, then for each entry: load(entry), run, read the report and
  /// call after(entry), while the entry's outputs are still there. Allocates nothing. The reports stay valid
  /// until the next call.
  template <typename Load, typename After>
  const std::vector<StepReport> &run(int64_t iteration, Load &&load, After &&after) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      begin(i, iteration);
      load(*entries_[i]);
      session_.run(*entries_[i]);
      end(i);
      after(*entries_[i]);
    }
    return reports_;
  }

private:
  struct Prepared {
    const Step *step;
    const Port *loss = nullptr;
    double rate = 0;
    std::vector<std::pair<const Hyper *, double>> values;
    double skippedBefore = 0;
    bool updates = true; // this iteration; the others only accumulate
  };
  void begin(size_t i, int64_t iteration);
  void end(size_t i);
  std::optional<double> unboundedScale(size_t i) const;

  Session &session_;
  Schedule schedule_;
  std::vector<Prepared> steps_;
  std::vector<const Entry *> entries_;
  std::vector<StepReport> reports_;
};

} // namespace mpc::rt
