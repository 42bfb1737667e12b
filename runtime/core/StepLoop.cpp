#include "runtime/core/StepLoop.h"

#include "runtime/support/Error.h"

#include <set>

namespace mpc::rt {

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
    Prepared prepared{&step, nullptr, 0, {}, 0};
    entries_.push_back(&session.entry(gradients && !step.traceEntry.empty() ? step.traceEntry : step.entry));
    prepared.loss = entries_.back()->outputOfRole("loss");
    for (const Hyper &h : step.hyper) {
      double value = h.standard;
      for (const std::string &name : {h.name, step.name + "." + h.name})
        if (auto it = hyper.find(name); it != hyper.end()) {
          value = it->second;
          unused.erase(name);
        }
      if (h.name == "lr")
        prepared.rate = value;
      prepared.values.push_back({&h, value});
      if (known.find(h.name) == known.npos)
        known += (known.empty() ? "" : ", ") + h.name;
    }
    steps_.push_back(std::move(prepared));
  }
  if (!unused.empty())
    fail("--" + *unused.begin(), "the program's optimizer has no such hyperparameter",
         known.empty() ? "it has none" : "it has: " + known);
  reports_.resize(steps_.size());
}

void StepLoop::setHyper(const std::string &name, double value) {
  bool found = false;
  for (Prepared &prepared : steps_)
    for (auto &[hyper, current] : prepared.values)
      if (name == hyper->name || name == prepared.step->name + "." + hyper->name) {
        current = value;
        if (hyper->name == "lr")
          prepared.rate = value;
        found = true;
      }
  if (!found)
    fail(name, "the program's optimizer has no such hyperparameter", "the program's info lists them");
}

bool StepLoop::hasScaler() const {
  for (const Prepared &prepared : steps_)
    if (prepared.step->scaler)
      return true;
  return false;
}

double StepLoop::scale(size_t i) const {
  const Scaler &scaler = *steps_[i].step->scaler;
  return scaler.scale.empty() ? scaler.value : session_.variableScalar(scaler.scale);
}

void StepLoop::begin(size_t i, int64_t iteration) {
  Prepared &prepared = steps_[i];
  StepReport &report = reports_[i];
  report.rate = schedule_.rate(prepared.rate, iteration);
  prepared.updates = (iteration + 1) % prepared.step->accumulate == 0;
  for (auto &[hyper, value] : prepared.values)
    session_.setVariableScalar(hyper->variable, hyper->name == "lr" ? report.rate : value);
  if (const auto &scaler = prepared.step->scaler) {
    report.scale = scale(i);
    if (!scaler->skipped.empty())
      prepared.skippedBefore = session_.variableScalar(scaler->skipped);
  }
}

void StepLoop::end(size_t i) {
  Prepared &prepared = steps_[i];
  StepReport &report = reports_[i];
  report.loss = prepared.loss ? session_.readScalar(*prepared.loss) : 0;
  report.skipped = false;
  if (const auto &scaler = prepared.step->scaler)
    report.skipped = scaler->skipped.empty()
                         ? scale(i) < report.scale
                         : session_.variableScalar(scaler->skipped) != prepared.skippedBefore;
  report.unbounded = unboundedScale(i);
}

/// The scale sits at a bound, and the rule's next value lies beyond it. The tracker counts updates since the
/// scale last moved, so after an update that was not skipped a 0 says that the scale was to grow.
std::optional<double> StepLoop::unboundedScale(size_t i) const {
  const StepReport &report = reports_[i];
  const std::optional<Scaler> &scaler = steps_[i].step->scaler;
  if (!scaler || scaler->tracker.empty())
    return std::nullopt;
  const std::optional<Scaler::Bound> &bound = report.skipped ? scaler->lower : scaler->upper;
  bool moves = report.skipped || (steps_[i].updates && session_.variableScalar(scaler->tracker) == 0);
  if (!bound || !moves || scale(i) != double(float(bound->bound)))
    return std::nullopt;
  double next = report.scale * bound->factor;
  return (report.skipped ? next < bound->bound : next > bound->bound) ? std::optional(next) : std::nullopt;
}

} // namespace mpc::rt
