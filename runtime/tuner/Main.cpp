// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tuner measures the schedules of a model's products and convolutions, prints a table and writes a file
// for `mpc compile --tune`.

#include "runtime/support/AtomicFile.h"
#include "runtime/support/Error.h"
#include "runtime/support/Outputs.h"
#include "runtime/support/OwnFile.h"
#include "runtime/tuner/Tuner.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace mpc::rt;

namespace {
struct Flags {
  TunerOptions tuner;
  std::string out;
  bool list = false;
};
} // namespace

static void print(const std::string &text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

static void list(const Program &program, const TunerOptions &options) {
  for (const TunedProblem &problem : problemsOf(program, planToTune(program, options), options.only)) {
    print(concat(problem.problem, "\n"));
    for (const Candidate &candidate : problem.candidates)
      print(concat("  ", candidate.schedule, ": expected ", candidate.estimate * 1e6, " us\n"));
  }
}

/// Returns the exit status.
static int runTuner(Flags &flags) {
  std::shared_ptr<const Program> program = Program::openSelf();
  if (flags.list) {
    list(*program, flags.tuner);
    return 0;
  }
  if (flags.out.empty())
    flags.out = program->manifest().model + ".tune.json";
  checkOutput(flags.out, {ownFile()});
  AtomicFile file(flags.out); // must succeed before the measurement, which would otherwise be lost
  TuningResult result = tune(*program, flags.tuner, [](const TunedProblem &problem) { print(describe(problem)); });
  file.write(tuningFile(result));
  file.commit();
  print(concat(result.gpu, ": ", result.problems.size(), " problems, ", flags.out, "\n"));
  if (result.agree())
    return 0;
  fail(program->where(), "schedules of one problem compute different results; the file leaves that problem out",
       "please report it with the model and the table");
}

int main(int argc, char **argv) {
  CLI::App app("Measures schedules of matrix products and convolutions on this machine's GPU.");
  Flags flags;
  app.add_option("--device", flags.tuner.device, "cuda, or emulator: one run of each, to try it")
      ->capture_default_str();
  app.add_option("--arch", flags.tuner.arch, "which of its architectures the emulator is (default: the newest)");
  app.add_option("--out", flags.out, "the file for mpc compile --tune (default: MODEL.tune.json)");
  app.add_option("--only", flags.tuner.only, "problems that this regular expression is found in");
  app.add_option("--iterations", flags.tuner.effort.iterations, "launches of a candidate, at least")
      ->check(CLI::Range(size_t(1), size_t(1'000'000)))
      ->capture_default_str();
  app.add_option("--seconds", flags.tuner.effort.seconds, "time for a candidate; more iterations fill it")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_flag("--list", flags.list, "print problems, schedules and expected times, and measure nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // prints help
    std::fputs(Error("", error.what(), concat("see '", argv[0], " --help'")).text().c_str(), stderr);
    return 1;
  }
  int status = 0;
  if (std::optional<Error> error = attempt([&] { status = runTuner(flags); })) {
    std::fflush(stdout);
    std::fputs(error->text().c_str(), stderr);
    return 1;
  }
  return status;
}
