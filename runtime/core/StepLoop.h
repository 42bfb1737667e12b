// Training iterations: the entries of all optimizers on one batch, and what is to be said about it.
#pragma once

#include "runtime/core/Schedule.h"
#include "runtime/core/data/Batches.h"

#include <map>
#include <optional>

namespace mpc::rt {

/// What one optimizer did in an iteration.
struct StepReport {
  double loss = 0;       // unscaled, before the update
  double rate = 0;       // learning rate
  double scale = 1;      // the loss scale that this iteration used
  double scaleAfter = 1; // and the one it left to the next
  bool overflowed = false; // a gradient was not finite: a dynamic scale shrinks
  bool skipped = false;    // that, or the loss was not finite and is guarded: nothing was updated
  /// Where torch's GradScaler, which knows no bounds, would have put the scale; absent when no bound acted.
  std::optional<double> unbounded;
};

struct IterationReport {
  int64_t iteration = 0; // from 0
  std::vector<StepReport> steps;
};

/// A device may work behind: `start` gives it an iteration and goes on, `next` waits for the oldest one's
/// report. At most `ahead()` iterations may be waiting for that; on a device that runs while we wait it is 1.
class StepLoop {
public:
  /// `hyper`: user values by name ("lr") or by step and name ("main.lr"); the others keep their defaults.
  /// Throws Error for names that no step has, values that no variable can hold and for a program without
  /// train entries. `gradients`: run the trace entries, whose outputs hold the gradients too, where the
  /// program has them.
  StepLoop(Session &session, const std::map<std::string, double> &hyper, const Schedule &schedule,
           bool gradients = false);

  /// Changes a hyperparameter ("lr" or "main.lr") from the next iteration on. Throws Error for a name that no
  /// step has, and for a value that its variable cannot hold.
  void setHyper(const std::string &name, double value);
  /// Whether a step whose loss is not finite updates nothing, which is so until this says otherwise. For setHyper its name is "nan_guard".
  void setGuard(bool guards);
  void setSchedule(const Schedule &schedule) { schedule_ = schedule; }
  /// The train entries in order, one per optimizer.
  const std::vector<const Entry *> &entries() const { return entries_; }
  const std::string &name(size_t step) const { return steps_[step].step->name; }
  bool hasScaler() const;
  /// Whether reports may say that a step was skipped.
  bool maySkip() const;

  size_t ahead() const { return rounds_.size(); }
  /// Iterations that were started and whose report nobody took.
  size_t waiting() const { return size_t(started_ - taken_); }

  /// Writes the hyperparameters of the iteration where they changed, then for each entry: load(entry), run
  /// and call after(entry), while the entry's outputs are still there. Allocates nothing. Only while fewer
  /// than `ahead()` are waiting.
  template <typename Load, typename After>
  void start(int64_t iteration, Load &&load, After &&after) {
    begin(iteration);
    for (size_t i = 0; i < steps_.size(); ++i) {
      begin(i, iteration);
      load(*entries_[i]);
      session_.run(*entries_[i]);
      steps_[i].snapshots->take(slot(started_));
      after(*entries_[i]);
    }
    changes_ = session_.changes();
    ++started_;
  }
  /// The report of the oldest iteration that is waiting; valid until the next call of `start`.
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
  /// Of a scaler, between two iterations; `skipped`: its counter.
  struct State {
    double scale = 1, skipped = 0;
  };
  struct Value {
    const Hyper *hyper;
    mpc_dtype type; // of its variable
    double value;
    std::optional<double> written;
  };
  struct Prepared {
    const Step *step;
    double rate = 0;
    std::vector<Value> values;
    std::optional<size_t> guard; // position among them
    bool badWindow = false;      // a loss since the last update was not finite, and is guarded
    std::unique_ptr<Snapshots> snapshots;                // a slot an iteration
    std::vector<Scalar> scalars;                         // what they hold
    std::optional<size_t> loss, scale, skipped, tracker; // positions among them
    State last;                                          // behind the iteration whose report was taken last
  };
  /// An iteration on its way.
  struct Round {
    IterationReport report;
    std::vector<std::optional<State>> before; // one per step, where the iteration before does not say
  };
  void begin(int64_t iteration);
  void begin(size_t i, int64_t iteration);
  void finish(size_t i, Round &round);
  size_t slot(uint64_t count) const { return size_t(count % rounds_.size()); }
  static std::optional<double> unboundedScale(const Scaler &scaler, const StepReport &report, bool grows);

  Session &session_;
  Schedule schedule_;
  std::vector<Prepared> steps_;
  std::vector<const Entry *> entries_;
  std::vector<Round> rounds_;
  uint64_t started_ = 0, taken_ = 0; // iterations
  std::optional<uint64_t> changes_;  // of the session, behind our own last one
};

} // namespace mpc::rt
