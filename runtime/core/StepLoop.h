// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Training iterations run the entries of all optimizers on one batch and report about it.
#pragma once

#include "runtime/core/Schedule.h"
#include "runtime/core/data/Batches.h"

#include <limits>
#include <map>
#include <optional>

namespace mpc::rt {

/// Says what one optimizer did in an iteration, or, where the iteration left it out, the last time that it ran.
struct StepReport {
  bool ran = true;         // in this iteration; where not, nothing overflowed and nothing was skipped
  bool known = true;       // it has run since the loop was made; where not, the loss is NaN
  double loss = 0;         // unscaled, before the update
  double rate = 0;         // learning rate
  double scale = 1;        // the loss scale that this iteration used
  double scaleAfter = 1;   // the loss scale that it left to the next iteration
  bool overflowed = false; // a gradient was not finite, so a dynamic scale shrinks
  bool skipped = false;    // nothing was updated: a gradient overflowed, or the loss was not finite and is guarded
  /// The global norm of the unscaled gradients of the last update before clipping, not finite where a gradient was not;
  /// absent before the first update, and where the program does not compute it.
  std::optional<double> gradientNorm;
  /// The scale that torch's GradScaler, which knows no bounds, would have chosen; absent when no bound acted.
  std::optional<double> unbounded;
};

struct IterationReport {
  int64_t iteration = 0; // counts from 0
  std::vector<StepReport> steps;
};

/// A device may execute iterations after `start` has returned: `start` hands it one and returns, `next` waits for the
/// report of the oldest. At most `ahead()` reports may be outstanding; for a device whose `run` waits until all is
/// done, that is 1.
class StepLoop {
public:
  /// `hyper`: user values by name ("lr") or by step and name ("main.lr"); the other hyperparameters keep their
  /// defaults. Throws Error for names that no step has, for values that no variable can hold and for a program without
  /// train entries. `gradients`: run the trace entries, whose outputs also hold the gradients, if the program has them.
  StepLoop(Session &session, const std::map<std::string, double> &hyper, const Schedule &schedule,
           bool gradients = false);

  /// Changes a hyperparameter ("lr" or "main.lr") from the next iteration on. Throws Error for a name that no
  /// step has, and for a value that its variable cannot hold.
  void setHyper(const std::string &name, double value);
  /// Sets whether a step whose loss is not finite updates nothing, which is the default. In setHyper its
  /// name is "nan_guard".
  void setGuard(bool guards);
  void setSchedule(const Schedule &schedule) { schedule_ = schedule; }
  /// Returns the train entries in order, one per optimizer.
  const std::vector<const Entry *> &entries() const { return entries_; }
  const std::string &name(size_t step) const { return steps_[step].step->name; }
  int64_t every(size_t step) const { return steps_[step].step->every; }
  bool hasScaler() const;
  bool hasGradientNorm() const;
  /// Returns whether reports may say that a step was skipped.
  bool maySkip() const;

  size_t ahead() const { return rounds_.size(); }
  /// Returns the number of iterations that were started and whose report has not been taken.
  size_t waiting() const { return size_t(started_ - taken_); }

  /// For each entry that the iteration does not leave out (Step::every), writes the hyperparameters if they changed,
  /// calls load(entry), runs the entry and calls after(entry), while the entry's outputs are still there. Allocates
  /// nothing. May only be called while fewer than `ahead()` iterations are waiting.
  template <typename Load, typename After>
  void start(int64_t iteration, Load &&load, After &&after) {
    begin(iteration);
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].step->runs(iteration))
        continue;
      begin(i, iteration);
      load(*entries_[i]);
      session_.run(*entries_[i]);
      steps_[i].snapshots->take(slot(started_));
      after(*entries_[i]);
    }
    changes_ = session_.changes();
    ++started_;
  }
  /// Waits for the report of the oldest outstanding iteration and returns it; it is valid until the next
  /// call of `start`.
  const IterationReport &next();

  /// Starts an iteration and waits for its report.
  template <typename Load, typename After>
  const std::vector<StepReport> &run(int64_t iteration, Load &&load, After &&after) {
    start(iteration, load, after);
    while (waiting() > 1)
      next();
    return next().steps;
  }

private:
  /// The state of a scaler between two iterations; `skipped` is its counter.
  struct State {
    double scale = 1, skipped = 0;
  };
  struct Value {
    const Hyper *hyper;
    mpc_dtype type; // type of its variable
    double value;
    std::optional<double> written;
  };
  struct Prepared {
    const Step *step;
    double rate = 0;
    std::vector<Value> values;
    std::optional<size_t> guard; // position among `values`
    bool badWindow = false;      // since the last update, a loss was not finite and was guarded
    bool known = false;          // a report of a run was taken
    double lastLoss = std::numeric_limits<double>::quiet_NaN(); // that of the last run
    double lastRate = 0;                                        // that of the last run
    std::unique_ptr<Snapshots> snapshots;                       // one slot per iteration
    std::vector<Scalar> scalars;                                // the numbers that a snapshot holds
    std::optional<size_t> loss, norm, scale, skipped, tracker;  // positions among `scalars`
    std::optional<double> lastNorm;                             // that of the last update
    State last;                                                 // after the iteration whose report was taken last
  };
  /// An iteration that was started and whose report has not been taken.
  struct Round {
    IterationReport report;
    std::vector<std::optional<State>> before; // one per step; set if the previous iteration's report does not give it
  };
  void begin(int64_t iteration);
  void begin(size_t i, int64_t iteration);
  void finish(size_t i, Round &round);
  static void repeat(const Prepared &prepared, StepReport &report);
  size_t slot(uint64_t count) const { return size_t(count % rounds_.size()); }
  static std::optional<double> unboundedScale(const Scaler &scaler, const StepReport &report, bool grows);

  Session &session_;
  Schedule schedule_;
  std::vector<Prepared> steps_;
  std::vector<const Entry *> entries_;
  std::vector<Round> rounds_;
  uint64_t started_ = 0, taken_ = 0; // numbers of iterations
  std::optional<uint64_t> changes_;  // the session's count of changes after our own last iteration
};

} // namespace mpc::rt
