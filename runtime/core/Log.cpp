// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Log.h"

#include "runtime/core/LogFile.h"
#include "runtime/core/TensorBoard.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace mpc::rt {

RunLog::RunLog(const std::string &path, int64_t keepBelow, const std::vector<std::string> &columns,
               const std::string &tensorBoard) {
  if (!path.empty())
    sinks_.push_back(openLogFile(path, keepBelow, columns));
  if (!tensorBoard.empty())
    sinks_.push_back(openEventFile(tensorBoard, keepBelow));
}

std::vector<std::string> RunLog::columnsOf(const StepLoop &loop, const std::vector<Metric> &metrics) {
  std::vector<std::string> columns = {"step", "epoch", "time", "at"};
  auto add = [&](std::string column) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end())
      columns.push_back(std::move(column));
  };
  auto addReport = [&](const std::string &prefix) { // what `describe` writes
    for (const char *name : {"loss", "lr"})
      add(prefix + name);
    if (loop.hasGradientNorm())
      add(prefix + "grad_norm");
    if (loop.hasScaler())
      add(prefix + "scale");
    if (loop.maySkip())
      add(prefix + "skipped");
  };
  addReport("");
  for (size_t i = 0; loop.entries().size() > 1 && i < loop.entries().size(); ++i)
    addReport(concat("steps.", loop.name(i), "."));
  for (const char *name : {"samples_per_s", "val_loss", "val_loss_samples"})
    add(name);
  for (const Metric &metric : metrics) {
    add(metric.name);
    if (metric.name == "accuracy")
      for (const char *name : {"correct", "counted"})
        add(name);
    add(metric.name + "_nan");
  }
  for (const char *name : {"val_samples", "note"})
    add(name);
  return columns;
}

RunLog::~RunLog() = default;

/// The values of one line.
struct RunLog::Values {
  json all;
};

RunLog::Values RunLog::begin(int64_t step, int64_t epoch) const {
  json all = json::object();
  all["step"] = step;
  if (epoch > 0)
    all["epoch"] = epoch;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  all["time"] = double(int64_t(seconds * 1000)) / 1000;
  char at[32] = "";
  std::time_t now = std::time(nullptr);
  std::tm parts = {};
  if (gmtime_r(&now, &parts))
    std::strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", &parts);
  all["at"] = at;
  return {std::move(all)};
}

void RunLog::write(const Values &values) {
  for (const std::unique_ptr<LogSink> &sink : sinks_)
    sink->write(values.all);
}

/// Shortens f32 values to as many digits as tell them apart.
static double shortened(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return std::strtod(text, nullptr);
}

static void describe(json &out, const StepReport &report, const StepLoop &loop) {
  if (!report.known)
    return; // the step runs on each K-th batch, and has not yet
  out["loss"] = shortened(report.loss);
  out["lr"] = report.rate;
  if (report.gradientNorm)
    out["grad_norm"] = shortened(*report.gradientNorm);
  if (loop.hasScaler())
    out["scale"] = report.scale;
  if (loop.maySkip())
    out["skipped"] = report.skipped;
}

void RunLog::step(int64_t step, int64_t epoch, const StepLoop &loop, const std::vector<StepReport> &reports,
                  double samplesPerSecond) {
  if (sinks_.empty())
    return;
  Values values = begin(step, epoch);
  json &out = values.all;
  describe(out, reports[0], loop);
  if (reports.size() > 1) {
    json steps = json::object();
    for (size_t i = 0; i < reports.size(); ++i)
      describe(steps[loop.name(i)] = json::object(), reports[i], loop);
    out["steps"] = std::move(steps);
  }
  out["samples_per_s"] = double(int64_t(samplesPerSecond * 10)) / 10;
  write(values);
}

void RunLog::note(int64_t step, const std::string &text) {
  if (sinks_.empty())
    return;
  Values values = begin(step, 0);
  values.all["note"] = text;
  write(values);
}

void RunLog::evaluation(int64_t step, int64_t epoch, const Evaluation &evaluation) {
  if (sinks_.empty())
    return;
  Values values = begin(step, epoch);
  json &out = values.all;
  if (evaluation.loss) {
    out["val_loss"] = *evaluation.loss;
    out["val_loss_samples"] = evaluation.lossSamples;
  }
  for (const MetricResult &metric : evaluation.metrics) {
    out[metric.name] = metric.table.empty() ? json(metric.value) : json(metric.table);
    if (metric.name == "accuracy") {
      out["correct"] = *metric.correct;
      out["counted"] = metric.counted;
    }
    if (metric.nan > 0)
      out[metric.name + "_nan"] = metric.nan;
  }
  out["val_samples"] = evaluation.samples;
  write(values);
}

} // namespace mpc::rt
