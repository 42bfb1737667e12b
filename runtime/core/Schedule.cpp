// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Schedule.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

namespace mpc::rt {

std::vector<Span> Span::parse(std::string_view text, bool epochs, int64_t least) {
  std::vector<Span> spans;
  for (bool more = true; more;) {
    std::string_view item = text.substr(0, text.find(','));
    more = item.size() < text.size();
    text.remove_prefix(item.size() + more);
    Span span;
    auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), span.count);
    std::string_view unit = item.substr(size_t(end - item.data()));
    span.epochs = unit.empty() ? epochs : unit[0] == 'e';
    bool known = unit.empty() || unit == "e" || unit == "epochs" || unit == "s" || unit == "steps";
    if (error != std::errc() || !known || span.count < least || span.count > 1'000'000'000)
      return {};
    spans.push_back(span);
  }
  return spans;
}

Schedule::Kind Schedule::kindOf(const std::string &name) {
  std::string_view rest = kNames;
  for (int kind = Constant; kind <= Plateau; ++kind) {
    size_t end = std::min(rest.find(','), rest.size());
    if (rest.substr(0, end) == name)
      return Kind(kind);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  fail("--schedule", "unknown schedule '" + name + "'", concat("use one of ", kNames));
}

void Schedule::settle(int64_t perEpoch, int64_t steps) {
  total = steps;
  auto needs = [&](bool there, const char *name, const char *what, const char *hint) {
    if (!there)
      fail(concat("--schedule ", name), what, hint);
  };
  if (kind == Exponential && stepSize.count == 0)
    stepSize = Span(1, true);
  if (kind == Step)
    needs(stepSize.count > 0, "step", "does not say when the rate falls",
          "add --step-size N, the steps between decays");
  if (kind == MultiStep)
    needs(!milestones.empty(), "multi-step", "does not say when the rate falls",
          "add --milestones, for example --milestones 30e,60e");
  if (kind == CosineRestarts)
    needs(restartSteps.count > 0, "cosine-restarts", "does not say how long its first cycle is",
          "add --restart-steps, for example --restart-steps 10e");
  if (pctStart > 1)
    fail("--pct-start", concat(pctStart, " is no part of the training"), "give a number from 0 to 1");
  for (Span *span : {&warmup, &stepSize, &restartSteps})
    *span = span->steps(perEpoch);
  for (Span &span : milestones)
    span = span.steps(perEpoch);
}

/// Goes from `from` at progress 0 to `to` at 1.
static double cosine(double from, double to, double progress) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

double Schedule::rate(double base, int64_t iteration) const {
  if (iteration < warmup.count)
    return base * double(iteration + 1) / double(warmup.count);
  const double t = double(iteration - warmup.count), all = double(std::max<int64_t>(total - warmup.count, 1)),
               floor = std::min(minRate, base), progress = std::min(1.0, t / all),
               size = double(std::max<int64_t>(stepSize.count, 1));
  switch (kind) {
  case Constant:
    return base;
  case Step:
    return std::max(floor, base * std::pow(stepGamma, std::floor(t / size)));
  case MultiStep: {
    int64_t passed = 0;
    for (const Span &milestone : milestones)
      passed += double(milestone.count) <= t;
    return std::max(floor, base * std::pow(stepGamma, double(passed)));
  }
  case Exponential:
    return std::max(floor, base * std::pow(stepGamma, t / size));
  case Plateau:
    return std::max(floor, base * plateauFactor);
  case Cosine:
    return cosine(base, floor, progress);
  case Linear:
    return base + (floor - base) * progress;
  case Polynomial:
    return floor + (base - floor) * std::pow(1 - progress, power);
  case CosineRestarts: {
    double length = double(restartSteps.count), at = t;
    if (restartFactor == 1)
      at = std::fmod(at, length);
    for (; at >= length; length *= double(restartFactor))
      at -= length;
    return cosine(base, floor, at / length);
  }
  case OneCycle: {
    const double first = base / divFactor, top = pctStart * all - 1, end = all - 1;
    double rate = t <= top && top > 0
                      ? cosine(first, base, t / top)
                      : cosine(base, first / finalDivFactor, end > top ? std::min(1.0, (t - top) / (end - top)) : 1.0);
    return std::max(floor, rate);
  }
  }
  return base;
}

} // namespace mpc::rt
