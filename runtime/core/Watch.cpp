// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Watch.h"

#include "runtime/support/Error.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace mpc::rt {

/// Returns whether a smaller value of this kind is better: it is one of errors, not of right decisions.
static bool smallerIsBetter(const std::string &kind) {
  return kind == "perplexity" || kind == "mae" || kind == "rmse" || kind == "token_error_rate";
}

BestValue::BestValue(const std::string &option, const std::string &metric, const Session &session, double threshold)
    : metric_(metric), smaller_(true), threshold_(threshold), best_(std::numeric_limits<double>::quiet_NaN()) {
  const Entry &entry = session.entryOfKind("eval");
  bool known = false;
  std::string names;
  if (entry.outputOfRole("sample_loss") || entry.outputOfRole("loss")) {
    names = "loss";
    known = metric == names;
  }
  for (const Metric &m : session.manifest().metrics)
    if (m.kind != "confusion") { // is a table
      names += concat(names.empty() ? "" : ", ", m.name);
      if (m.name == metric && !known) {
        known = true;
        smaller_ = smallerIsBetter(m.kind);
      }
    }
  if (!known)
    fail(option, concat("the program's evaluation has no number '", metric, "'"),
         concat("it has: ", names, "; 'mpc compile --metric' adds others"));
}

bool BestValue::better(double value) const {
  if (!std::isfinite(value) || std::isnan(best_))
    return std::isfinite(value);
  return smaller_ ? value < best_ * (1 - threshold_) : value > best_ * (1 + threshold_);
}

bool BestValue::take(const Evaluation &evaluation, int64_t step) {
  double value = best_;
  if (metric_ == "loss" && evaluation.loss)
    value = *evaluation.loss;
  else
    for (const MetricResult &metric : evaluation.metrics)
      if (metric.name == metric_)
        value = metric.value;
  ++waited_;
  if (!better(value))
    return false;
  best_ = value;
  step_ = step;
  waited_ = 0;
  return true;
}

void BestValue::beginAnew() {
  waited_ = 0;
  ++events_;
}

std::string BestValue::text() const {
  return std::isnan(best_) ? "no " + metric_ : concat(metric_, " ", best_, " (step ", step_, ")");
}

std::string BestValue::state() const {
  char best[40];
  std::snprintf(best, sizeof best, "%.17g", best_);
  return concat(best, " ", step_, " ", waited_, " ", events_, " ", metric_);
}

bool BestValue::restore(const std::string &state) {
  double best = 0;
  long long numbers[3] = {};
  int end = 0;
  if (std::sscanf(state.c_str(), "%lf %lld %lld %lld %n", &best, &numbers[0], &numbers[1], &numbers[2], &end) != 4 ||
      state.substr(size_t(end)) != metric_)
    return false;
  best_ = best;
  step_ = numbers[0];
  waited_ = numbers[1];
  events_ = numbers[2];
  return true;
}

Watches::Watches(const WatchOptions &options, const Session &session, bool evaluates, bool saves) : options_(options) {
  const std::string *metrics[Uses] = {&options.saveBest, options.patience > 0 ? &options.stopMetric : nullptr,
                                      options.plateau ? &options.plateauMetric : nullptr};
  for (int use = Save; use < Uses; ++use) {
    if (!metrics[use] || (use == Save && metrics[use]->empty()))
      continue;
    if (!evaluates)
      fail(kOptions[use], "there is nothing to evaluate", "give --val");
    if (use == Save && !saves)
      fail(kOptions[use], "there is no folder for the best checkpoint", "give --checkpoint-dir");
    // The threshold is that of torch's ReduceLROnPlateau.
    values_[use].emplace(kOptions[use], *metrics[use], session, use == Plateau ? 1e-4 : 0);
  }
  if (options.plateauFactor >= 1)
    fail("--plateau-factor", concat(options.plateauFactor, " is no decay"), "give a factor below 1");
}

bool Watches::take(const Evaluation &evaluation, int64_t step) {
  bool better[Uses] = {};
  for (int use = Save; use < Uses; ++use)
    better[use] = values_[use] && values_[use]->take(evaluation, step);
  if (std::optional<BestValue> &plateau = values_[Plateau]; plateau && plateau->waited() > options_.plateauPatience)
    plateau->beginAnew();
  return better[Save];
}

std::string Watches::stopText() const {
  const std::optional<BestValue> &stop = values_[Stop];
  if (!stop || stop->waited() < options_.patience)
    return "";
  return concat("no evaluation of the last ", stop->waited(), " is better than ", stop->text());
}

double Watches::rateFactor() const {
  return values_[Plateau] ? std::pow(options_.plateauFactor, double(values_[Plateau]->events())) : 1;
}

std::string Watches::state() const {
  std::string lines;
  for (int use = Save; use < Uses; ++use)
    if (values_[use])
      lines += concat(kOptions[use], "\t", values_[use]->state(), "\n");
  return lines;
}

/// Goes on from the line of a use. Returns false if there is none of the same metric.
bool Watches::restore(Use use, const std::string &state) {
  std::string begin = concat(kOptions[use], "\t");
  size_t at = state.find(begin);
  if (at == state.npos)
    return false;
  at += begin.size();
  return values_[use]->restore(state.substr(at, state.find('\n', at) - at));
}

void Watches::restore(const std::string &state, const NoteSink &note) {
  for (int use = Save; use < Uses; ++use)
    if (values_[use] && !restore(Use(use), state))
      note(concat(kOptions[use], ": the checkpoint knows no best value of this metric: it is found anew"));
}

void Watches::restoreBest(const std::string &state) {
  if (!values_[Save])
    return;
  const BestValue before = *values_[Save];
  if (restore(Save, state) && !values_[Save]->betterThan(before))
    values_[Save] = before;
}

} // namespace mpc::rt
