// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/StepLoop.h"

#include "runtime/support/Error.h"

#include <cmath>
#include <set>

namespace mpc::rt {

/// Throws Error for a value that the hyperparameter's variable cannot hold. `where` is a view, because steps
/// allocate nothing.
static void check(mpc_dtype type, double value, std::string_view where) {
  if (!std::isfinite(value) || firstMisfit(MPC_F64, &value, type, 1) == 0)
    fail(std::string(where), concat(value, " is no value of type ", nameOf(type)),
         "give a number that the type can represent");
}

StepLoop::StepLoop(Session &session, const std::map<std::string, double> &hyper, const Schedule &schedule,
                   bool gradients)
    : session_(session), schedule_(schedule) {
  if (session.manifest().steps.empty())
    fail(session.program().where(), "cannot train: it was compiled without a loss",
         "compile the model with --loss and --optimizer");
  std::set<std::string> unused;
  for (const auto &[name, value] : hyper)
    unused.insert(name);
  std::string known;
  for (const Step &step : session.manifest().steps) {
    Prepared prepared;
    prepared.step = &step;
    entries_.push_back(&session.entry(gradients && !step.traceEntry.empty() ? step.traceEntry : step.entry));
    auto watch = [&](Scalar scalar) {
      prepared.scalars.push_back(scalar);
      return prepared.scalars.size() - 1;
    };
    if (const Port *loss = entries_.back()->outputOfRole("loss"))
      prepared.loss = watch(Session::scalarOf(*loss));
    if (const Port *norm = entries_.back()->outputOfRole("grad_norm"))
      prepared.norm = watch(Session::scalarOf(*norm));
    if (step.scaler)
      for (auto [position, variable] :
           {std::pair(&prepared.scale, &step.scaler->scale), std::pair(&prepared.skipped, &step.scaler->skipped),
            std::pair(&prepared.tracker, &step.scaler->tracker)})
        if (!variable->empty())
          *position = watch(session.scalarOf(*variable));
    prepared.snapshots = session.snapshots(prepared.scalars, session.iterationsAhead());
    for (const Hyper &h : step.hyper) {
      double value = h.standard;
      mpc_dtype type = session.manifest().variable(h.variable)->dtype;
      for (const std::string &name : {h.name, step.name + "." + h.name})
        if (auto it = hyper.find(name); it != hyper.end()) {
          value = it->second;
          check(type, value, "--" + name);
          unused.erase(name);
        }
      if (h.name == "lr")
        prepared.rate = value;
      prepared.values.push_back({&h, type, value, std::nullopt});
      if (known.find(h.name) == known.npos)
        known += (known.empty() ? "" : ", ") + h.name;
    }
    if (!step.nanGuard.variable.empty()) {
      prepared.guard = prepared.values.size();
      prepared.values.push_back(
          {&step.nanGuard, session.manifest().variable(step.nanGuard.variable)->dtype, 1, std::nullopt});
    }
    steps_.push_back(std::move(prepared));
  }
  if (!unused.empty())
    fail("--" + *unused.begin(), "the program's optimizer has no such hyperparameter",
         known.empty() ? "it has none" : "it has: " + known);
  rounds_.resize(session.iterationsAhead());
  for (Round &round : rounds_) {
    round.report.steps.resize(steps_.size());
    round.before.resize(steps_.size());
  }
}

void StepLoop::setHyper(const std::string &name, double value) {
  bool found = false;
  for (Prepared &prepared : steps_)
    for (Value &current : prepared.values)
      if (name == current.hyper->name || name == prepared.step->name + "." + current.hyper->name) {
        check(current.type, value, name);
        current.value = value;
        if (current.hyper->name == "lr")
          prepared.rate = value;
        found = true;
      }
  if (!found)
    fail(name, "the program's optimizer has no such hyperparameter", "the program's info lists them");
}

void StepLoop::setGuard(bool guards) {
  for (Prepared &prepared : steps_)
    if (prepared.guard)
      prepared.values[*prepared.guard].value = guards;
}

bool StepLoop::maySkip() const {
  for (const Prepared &prepared : steps_)
    if (prepared.step->scaler || prepared.guard)
      return true;
  return false;
}

bool StepLoop::hasScaler() const {
  for (const Prepared &prepared : steps_)
    if (prepared.step->scaler)
      return true;
  return false;
}

bool StepLoop::hasGradientNorm() const {
  for (const Prepared &prepared : steps_)
    if (prepared.norm)
      return true;
  return false;
}

/// As long as nothing but our own iterations changes the state, each iteration finds what the previous one left.
/// Otherwise hyperparameters are written and scalers read anew, which waits for the device.
void StepLoop::begin(int64_t iteration) {
  Round &round = rounds_[slot(started_)];
  round.report.iteration = iteration;
  bool known = changes_ == session_.changes();
  for (size_t i = 0; i < steps_.size(); ++i) {
    round.before[i].reset();
    if (known)
      continue;
    for (Value &value : steps_[i].values)
      value.written.reset();
    if (const std::optional<Scaler> &scaler = steps_[i].step->scaler)
      round.before[i] = {scaler->scale.empty() ? scaler->value : session_.variableScalar(scaler->scale),
                         scaler->skipped.empty() ? 0 : session_.variableScalar(scaler->skipped)};
  }
}

void StepLoop::begin(size_t i, int64_t iteration) {
  Prepared &prepared = steps_[i];
  double rate = rounds_[slot(started_)].report.steps[i].rate = schedule_.rate(prepared.rate, iteration);
  for (Value &value : prepared.values) {
    double now = value.hyper->name == "lr" ? rate : value.value;
    if (value.written == now)
      continue;
    check(value.type, now, value.hyper->name); // the schedule may have made the value unrepresentable
    session_.setVariableScalar(value.hyper->variable, now);
    value.written = now;
  }
}

const IterationReport &StepLoop::next() {
  Round &round = rounds_[slot(taken_)];
  for (size_t i = 0; i < steps_.size(); ++i)
    finish(i, round);
  ++taken_;
  return round.report;
}

/// Reports about a step that the iteration left out.
void StepLoop::repeat(const Prepared &prepared, StepReport &report) {
  report.known = prepared.known;
  report.loss = prepared.lastLoss;
  report.rate = prepared.lastRate;
  report.gradientNorm = prepared.lastNorm;
  report.scale = report.scaleAfter = prepared.last.scale;
  report.overflowed = report.skipped = false;
  report.unbounded.reset();
}

void StepLoop::finish(size_t i, Round &round) {
  Prepared &prepared = steps_[i];
  StepReport &report = round.report.steps[i];
  const int64_t iteration = round.report.iteration;
  report.ran = prepared.step->runs(iteration);
  if (!report.ran) {
    prepared.last = round.before[i].value_or(prepared.last);
    return repeat(prepared, report);
  }
  prepared.known = report.known = true;
  prepared.lastRate = report.rate;
  auto value = [&](std::optional<size_t> position, double absent) {
    return position
               ? loadDouble(prepared.scalars[*position].type, prepared.snapshots->range(slot(taken_), *position), 0)
               : absent;
  };
  report.loss = prepared.lastLoss = value(prepared.loss, 0);
  report.overflowed = false;
  const std::optional<Scaler> &scaler = prepared.step->scaler;
  // One loss that is not finite, of several accumulated batches, costs the whole update.
  const bool updates = prepared.step->updates(iteration);
  prepared.badWindow |= prepared.guard && prepared.values[*prepared.guard].value != 0 && !std::isfinite(report.loss);
  report.skipped = updates && prepared.badWindow;
  prepared.badWindow &= !updates;
  if (updates && prepared.norm)
    prepared.lastNorm = value(prepared.norm, 0);
  report.gradientNorm = prepared.lastNorm;
  report.unbounded.reset();
  if (!scaler)
    return;
  const State before = round.before[i].value_or(prepared.last),
              after = {value(prepared.scale, scaler->value), value(prepared.skipped, 0)};
  report.scale = before.scale;
  report.scaleAfter = after.scale;
  report.overflowed = prepared.skipped ? after.skipped != before.skipped : after.scale < before.scale;
  report.skipped |= report.overflowed;
  if (prepared.tracker)
    report.unbounded = unboundedScale(*scaler, report, updates && value(prepared.tracker, 0) == 0);
  prepared.last = after;
}

/// Returns a value if the scale sits at a bound and the rule's next value lies beyond it. The tracker counts updates
/// since the scale last moved, so a 0 after an update that was not skipped (`grows`) says that the scale was to grow.
std::optional<double> StepLoop::unboundedScale(const Scaler &scaler, const StepReport &report, bool grows) {
  const std::optional<Scaler::Bound> &bound = report.overflowed ? scaler.lower : scaler.upper;
  if (!bound || !(report.overflowed || grows) || report.scaleAfter != double(float(bound->bound)))
    return std::nullopt;
  double next = report.scale * bound->factor;
  return (report.overflowed ? next < bound->bound : next > bound->bound) ? std::optional(next) : std::nullopt;
}

} // namespace mpc::rt
