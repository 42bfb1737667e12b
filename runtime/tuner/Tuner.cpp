// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/tuner/Tuner.h"

#include "runtime/support/Error.h"
#include "runtime/support/Json.h"
#include "runtime/tuner/Clocks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mpc::rt {

static constexpr char kSection[] = "tuner.json";

bool TuningResult::agree() const {
  for (const TunedProblem &problem : problems)
    for (const Candidate &candidate : problem.candidates)
      if (!candidate.seconds)
        return false;
  return true;
}

const Plan &planToTune(const Program &program, const TunerOptions &options) {
  if (options.device == "emulator")
    return chooseEmulatedPlan(program, options.arch);
  if (options.device != "cuda")
    fail("--device", concat("unknown device '", options.device, "'"), "use cuda or emulator");
  if (!options.arch.empty())
    fail("--arch", "is for the emulator", "give --device=emulator too, or leave it out");
  return choosePlan(program, cuda::Driver::get().gpu());
}

std::vector<TunedProblem> problemsOf(const Program &program, const Plan &plan, const std::string &only) {
  std::vector<TunedProblem> problems;
  try {
    std::regex meant(only, std::regex::extended);
    json section = json::parse(program.section(kSection));
    for (const json &object : section.at(plan.target)) {
      TunedProblem problem{object.at("problem"),
                           object.at("dispatch"),
                           object.at("flops"),
                           object.at("roofline_us").get<double>() * 1e-6,
                           {},
                           {}};
      for (const json &candidate : object.at("candidates"))
        problem.candidates.push_back(
            {candidate.at("entry"), candidate.at("schedule"), candidate.at("estimate_us").get<double>() * 1e-6, {}});
      if (std::regex_search(problem.problem, meant) || std::regex_search(problem.dispatch, meant))
        problems.push_back(std::move(problem));
    }
  } catch (const json::exception &error) {
    fail(program.where(), concat(kSection, " is broken: ", error.what()), "compile the tuner again");
  } catch (const std::regex_error &) {
    fail("--only", concat("'", only, "' is no regular expression"), "write for example 'matmul.*k=768'");
  }
  if (problems.empty())
    fail(only.empty() ? program.where() : "--only",
         only.empty() ? "the model has no matrix product or convolution" : "no problem is like that",
         only.empty() ? "there is nothing to measure" : "--list shows all");
  return problems;
}

TuningResult tune(const Program &program, const TunerOptions &options,
                  const std::function<void(const TunedProblem &)> &done) {
  const Plan &plan = planToTune(program, options);
  TuningResult result;
  result.target = plan.target;
  result.problems = problemsOf(program, plan, options.only);
  bool emulator = options.device == "emulator";
  CandidateBench bench(program, plan, emulator);
  result.gpu = bench.gpu();
  auto clocks = [&] { return emulator ? std::string() : gpuClocks(); };
  result.clocksBefore = clocks();
  for (TunedProblem &problem : result.problems) {
    std::vector<std::byte> expected;
    bool same = true;
    for (const Candidate &candidate : problem.candidates) {
      std::vector<std::byte> got = bench.exactResult(candidate.entry);
      if (expected.empty())
        expected = got;
      same &= got == expected;
    }
    // If the results differ, it is not known which candidate is wrong, so none is measured.
    if (same)
      for (Candidate &candidate : problem.candidates)
        candidate.seconds = bench.seconds(candidate.entry, options.effort);
    problem.clocks = clocks();
    done(problem);
  }
  result.clocksAfter = clocks();
  return result;
}

std::string describe(const TunedProblem &problem) {
  char line[256];
  std::string text = concat(problem.problem, "\n");
  std::snprintf(line, sizeof line, "  %10s %9s %10s %10s  %s\n", "us", "TFLOP/s", "% roofline", "% estimate",
                "schedule");
  text += line;
  const Candidate *fastest = nullptr;
  for (const Candidate &candidate : problem.candidates)
    if (candidate.seconds && (!fastest || *candidate.seconds < *fastest->seconds))
      fastest = &candidate;
  for (const Candidate &candidate : problem.candidates) {
    const char *schedule = candidate.schedule.c_str();
    if (!candidate.seconds) {
      std::snprintf(line, sizeof line, "  %10s %9s %10s %10s  %s: schedules differ in their results\n", "-", "-", "-",
                    "-", schedule);
    } else {
      double s = *candidate.seconds;
      std::snprintf(line, sizeof line, "  %10.2f %9.1f %10.1f %10.1f  %s%s\n", s * 1e6, problem.flops / s * 1e-12,
                    100 * problem.roofline / s, 100 * candidate.estimate / s, schedule,
                    &candidate == fastest ? " *" : "");
    }
    text += line;
  }
  if (!problem.clocks.empty())
    text += concat("  ", problem.clocks, "\n");
  return text;
}

std::string tuningFile(const TuningResult &result) {
  json file = {{"format", "mpc-tuning"}, {"version", 1}, {"gpu", result.gpu}, {"arch", result.target}};
  if (!result.clocksBefore.empty())
    file["clocks"] = {result.clocksBefore, result.clocksAfter};
  file["problems"] = json::array();
  for (const TunedProblem &problem : result.problems) {
    json candidates = json::array();
    for (const Candidate &candidate : problem.candidates)
      if (candidate.seconds)
        candidates.push_back({{"schedule", candidate.schedule},
                              {"us", *candidate.seconds * 1e6},
                              {"estimate_us", candidate.estimate * 1e6}});
    file["problems"].push_back({{"problem", problem.problem},
                                {"dispatch", problem.dispatch},
                                {"flops", problem.flops},
                                {"roofline_us", problem.roofline * 1e6},
                                {"clocks", problem.clocks},
                                {"candidates", std::move(candidates)}});
  }
  return file.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace mpc::rt
