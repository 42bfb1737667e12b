// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Bench.h"

#include "runtime/core/StepLoop.h"
#include "runtime/support/Error.h"
#include "runtime/support/Json.h"
#include "runtime/support/Random.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>
#include <unistd.h>

namespace mpc::rt {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double BenchResult::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  size_t n = sorted.size();
  return n == 0 ? 0 : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double BenchResult::minimum() const { return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end()); }

int64_t residentBytes() {
  long pages = 0, resident = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2)
      resident = 0;
    std::fclose(file);
  }
  return int64_t(resident) * sysconf(_SC_PAGESIZE);
}

/// Makes an input: floats are normal; integers lie in [0, n) for the n that the port allows.
static Tensor madeUp(const Port &port) {
  int64_t below = port.ranges.empty() ? 2 : port.ranges[0].below;
  for (const Range &range : port.ranges)
    below = std::min(below, range.below);
  Tensor tensor(port.dtype, port.shape);
  RandomStream random(0, port.name);
  for (size_t i = 0, n = size_t(tensor.elements()); i < n; ++i)
    storeDouble(port.dtype, tensor.bytes.data(), i,
                isFloat(port.dtype) ? random.normal(i) : double(int64_t(random.uniform(i) * double(below))));
  return tensor;
}

/// Like training, the benchmark starts steps before the reports of earlier ones have arrived, and times the steps by
/// the arrival of their reports. While we prepare a step, the device still has two to work on.
static constexpr size_t kBehind = 3;

/// The most steps that are timed together.
static constexpr int64_t kLongestCycle = 1000;

/// Returns the places of times behind keys, the longest time first and equal ones in their order. The bits of times,
/// which are not negative, are ordered as they are; std::stable_sort of what has the times would add 5 KB to programs.
static std::vector<std::pair<uint64_t, uint64_t>> longestFirst(const std::vector<double> &seconds) {
  std::vector<std::pair<uint64_t, uint64_t>> order;
  for (double time : seconds)
    order.push_back({~std::bit_cast<uint64_t>(time), order.size()});
  std::sort(order.begin(), order.end());
  return order;
}

BenchResult bench(Session &session, const BenchOptions &options) {
  StepLoop loop(session, {}, {});
  // Holds for each entry its inputs in stored order, which are copied in before every step as in training.
  std::vector<std::vector<std::pair<const Port *, Tensor>>> inputsOf;
  for (const Entry *entry : loop.entries()) {
    inputsOf.emplace_back();
    for (const Port &port : entry->inputs) {
      Tensor logical = madeUp(port), stored(port.dtype, port.shape);
      Transpose(port.shape, port.permutation).toStored(logical.bytes.data(), stored.bytes.data(), sizeOf(port.dtype));
      inputsOf.back().push_back({&port, std::move(stored)});
    }
  }
  // Where steps run on each K-th batch only, whole cycles are timed, and each counts as that many equal steps.
  int64_t cycle = 1;
  for (const Step &step : session.manifest().steps)
    cycle = std::min(std::lcm(cycle, std::min(step.every, kLongestCycle)), kLongestCycle);
  auto whole = [&](int64_t steps) { return (steps + cycle - 1) / cycle * cycle; };
  const int64_t warmup = whole(options.warmup), steps = whole(options.steps);
  const int64_t settled = std::max<int64_t>(2, cycle - 1); // all steps have run when this one is done
  BenchResult result;
  auto load = [&](const Entry &entry) {
    const size_t current = size_t(std::ranges::find(loop.entries(), &entry) - loop.entries().begin());
    for (const auto &[port, tensor] : inputsOf[current])
      session.setStored(*port, tensor.bytes.data());
  };
  auto after = [](const Entry &) {};
  for (int64_t step = 0; step < warmup; ++step) {
    loop.run(step, load, after);
    if (step == settled)
      result.residentBytes = residentBytes();
  }
  session.startProfile(options.profile);
  Clock::time_point last = Clock::now();
  auto take = [&] {
    result.loss = loop.next().steps[0].loss;
    result.seconds.push_back(secondsSince(last));
    last = Clock::now();
  };
  size_t behind = std::min(loop.ahead(), kBehind) - 1;
  for (int64_t step = 0; step < steps; ++step) {
    loop.start(warmup + step, load, after);
    if (loop.waiting() > behind)
      take();
    if (warmup + step == settled)
      result.residentBytes = residentBytes();
  }
  while (loop.waiting() > 0)
    take();
  for (size_t begin = 0; cycle > 1 && begin < result.seconds.size(); begin += size_t(cycle)) {
    const auto first = result.seconds.begin() + long(begin), end = first + long(cycle);
    std::fill(first, end, std::accumulate(first, end, 0.0) / double(cycle));
  }
  for (const Entry *entry : loop.entries()) {
    const std::vector<double> &times = session.profile(*entry);
    for (size_t i = 0; i < times.size(); ++i) {
      const Launch &launch = entry->launches[i];
      result.launches.push_back({entry->name, launch.name, launch.loc, launch.kind, session.implementation(*entry, i),
                                 times[i] / double(steps), launch.readBytes + launch.writtenBytes, launch.flops});
    }
  }
  session.startProfile(false);
  std::vector<double> seconds;
  for (const LaunchTime &launch : result.launches)
    seconds.push_back(launch.seconds);
  std::vector<LaunchTime> sorted;
  for (auto [key, i] : longestFirst(seconds))
    sorted.push_back(std::move(result.launches[i]));
  result.launches = std::move(sorted);
  return result;
}

/// Returns a quantity per second in units of 10^9, or "-" where there is none.
static std::string gigaPerSecond(double quantity, double seconds) {
  char text[32] = "-";
  if (quantity > 0 && seconds > 0)
    std::snprintf(text, sizeof text, "%.1f", quantity / seconds * 1e-9);
  return text;
}

/// Returns a table of all launches, slowest first, and one of the sums over launches of one kind.
static std::string profileTable(const std::vector<LaunchTime> &launches) {
  struct Sum {
    int64_t launches = 0, bytes = 0;
    double seconds = 0, flops = 0;
  };
  std::map<std::string, Sum> kinds;
  double total = 0, seen = 0;
  for (const LaunchTime &launch : launches) {
    Sum &sum = kinds[launch.kind];
    ++sum.launches;
    sum.bytes += launch.bytes;
    sum.seconds += launch.seconds;
    sum.flops += launch.flops;
    total += launch.seconds;
  }
  char line[512];
  std::snprintf(line, sizeof line, "%9s %6s %6s %9s %9s  %-15s %s\n", "ms", "%", "sum %", "GB/s", "GFLOP/s", "kind",
                "launch");
  std::string text = line;
  for (const LaunchTime &launch : launches) {
    seen += launch.seconds;
    std::snprintf(line, sizeof line, "%9.4f %6.1f %6.1f %9s %9s  %-15s ", launch.seconds * 1e3,
                  100 * launch.seconds / total, 100 * seen / total,
                  gigaPerSecond(double(launch.bytes), launch.seconds).c_str(),
                  gigaPerSecond(launch.flops, launch.seconds).c_str(), launch.kind.c_str());
    text += line + launch.name + (launch.library.empty() ? "" : " (" + launch.library + ")") + "  " + launch.loc + "\n";
  }
  std::vector<double> seconds;
  for (const auto &[kind, sum] : kinds)
    seconds.push_back(sum.seconds);
  std::snprintf(line, sizeof line, "%9s %6s %6s %9s %9s  %-15s %9s\n", "ms", "%", "MB", "GB/s", "GFLOP/s", "kind",
                "launches");
  text += line;
  for (auto [key, i] : longestFirst(seconds)) {
    const auto &[kind, sum] = *std::next(kinds.begin(), long(i));
    std::snprintf(line, sizeof line, "%9.4f %6.1f %6.0f %9s %9s  %-15s %9lld\n", sum.seconds * 1e3,
                  100 * sum.seconds / total, double(sum.bytes) * 1e-6,
                  gigaPerSecond(double(sum.bytes), sum.seconds).c_str(), gigaPerSecond(sum.flops, sum.seconds).c_str(),
                  kind.c_str(), static_cast<long long>(sum.launches));
    text += line;
  }
  return text;
}

std::string describeBench(const Session &session, const BenchResult &result, int64_t residentBefore, bool json) {
  int64_t planned = session.plan().peakBytes, grown = result.residentBytes - residentBefore;
  double rate = double(session.manifest().batch) / result.median();
  if (json) {
    mpc::rt::json out = {{"steps", result.seconds.size()},
                         {"median_ms", result.median() * 1e3},
                         {"min_ms", result.minimum() * 1e3},
                         {"samples_per_s", rate},
                         {"planned_bytes", planned},
                         {"resident_growth_bytes", grown},
                         {"loss", result.loss}};
    for (const LaunchTime &launch : result.launches)
      appendTo(out, "launches",
               {{"entry", launch.entry},
                {"name", launch.name},
                {"loc", launch.loc},
                {"kind", launch.kind},
                {"library", !launch.library.empty()},
                {"implementation", launch.library},
                {"bytes", launch.bytes},
                {"flops", launch.flops},
                {"ms", launch.seconds * 1e3}});
    return out.dump() + "\n";
  }
  char line[512];
  std::snprintf(line, sizeof line, "%zu steps: median %.3f ms, fastest %.3f ms, %.0f samples/s\n",
                result.seconds.size(), result.median() * 1e3, result.minimum() * 1e3, rate);
  std::string text = line;
  if (result.residentBytes) {
    std::snprintf(line, sizeof line, "memory: planned %.1f MiB, the process grew by %.1f MiB\n",
                  double(planned) / (1 << 20), double(grown) / (1 << 20));
    text += line;
  }
  if (!result.launches.empty())
    text += profileTable(result.launches);
  return text;
}

} // namespace mpc::rt
