#include "runtime/core/Log.h"

#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace mpc::rt {

using json = nlohmann::ordered_json;

/// Every line of a log begins so.
static constexpr std::string_view kLineBegin = "{\"step\":";

/// An existing file is written over or added to only when it is a log; the first line may have been cut.
static void checkIsLog(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return;
  std::string begin(std::min(size_t(info.st_size), kLineBegin.size()), '\0');
  if (!std::ifstream(path, std::ios::binary).read(begin.data(), std::streamsize(begin.size())) ||
      !kLineBegin.starts_with(begin))
    fail(path, "exists and is no log of a training", "give --log a file of its own");
}

RunLog::RunLog(const std::string &path, int64_t keepBelow) : path_(path) {
  if (path.empty())
    return;
  checkIsLog(path);
  if (keepBelow >= 0) {
    std::string kept, line;
    std::ifstream old(path);
    while (std::getline(old, line)) {
      // As a view: every type that is parsed from is a copy of the parser in the runner.
      json parsed = json::parse(std::string_view(line), nullptr, /*allow_exceptions=*/false);
      bool unfinished = old.eof() && parsed.is_discarded(); // by a killed process
      bool later = parsed.is_object() && parsed.contains("step") && parsed["step"].is_number_integer() &&
                   parsed["step"].get<int64_t>() > keepBelow;
      if (!unfinished && !later)
        kept += line + "\n";
    }
    if (old.is_open() && std::ifstream(path).good()) {
      AtomicFile file(path);
      file.write(kept);
      file.commit();
    }
  }
  file_ = std::fopen(path.c_str(), keepBelow >= 0 ? "ae" : "we");
  if (!file_)
    failErrno(path, "cannot write", errno);
}

RunLog::~RunLog() {
  if (file_)
    std::fclose(file_);
}

void RunLog::line(const std::string &text) {
  if (std::fputs((text + "\n").c_str(), file_) == EOF || std::fflush(file_) != 0)
    failErrno(path_, "cannot write the log", errno);
}

/// f32 values print with as many digits as tell them apart.
static double shortened(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return std::strtod(text, nullptr);
}

static void describe(json &out, const StepReport &report, bool scaler) {
  out["loss"] = shortened(report.loss);
  out["lr"] = report.rate;
  if (scaler) {
    out["scale"] = report.scale;
    out["skipped"] = report.skipped;
  }
}

void RunLog::step(int64_t step, int64_t epoch, const StepLoop &loop, const std::vector<StepReport> &reports,
                  double samplesPerSecond) {
  if (!file_)
    return;
  json out = {{"step", step}, {"epoch", epoch}};
  describe(out, reports[0], loop.hasScaler());
  if (reports.size() > 1)
    for (size_t i = 0; i < reports.size(); ++i)
      describe(out["steps"][loop.name(i)], reports[i], loop.hasScaler());
  out["samples_per_s"] = double(int64_t(samplesPerSecond * 10)) / 10;
  line(out.dump());
}

void RunLog::note(int64_t step, const std::string &text) {
  if (file_)
    line(json({{"step", step}, {"note", text}}).dump());
}

void RunLog::evaluation(int64_t step, int64_t epoch, const Evaluation &evaluation) {
  if (!file_)
    return;
  json out = {{"step", step}, {"epoch", epoch}};
  if (evaluation.loss) {
    out["val_loss"] = *evaluation.loss;
    out["val_loss_samples"] = evaluation.lossSamples;
  }
  for (const MetricResult &metric : evaluation.metrics) {
    out[metric.name] = metric.value();
    out["correct"] = metric.correct;
    out["counted"] = metric.counted;
  }
  out["val_samples"] = evaluation.samples;
  line(out.dump());
}

} // namespace mpc::rt
