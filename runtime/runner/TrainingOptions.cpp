// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runner/TrainingOptions.h"

#include "runtime/core/Train.h"
#include "runtime/runner/CommandLine.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace mpc::rt {

static constexpr char kSchedule[] = "--schedule", kRate[] = "Learning rate"; // the latter is a group

/// The options that only some schedules use.
static constexpr const char *kUses[][2] = {{"--step-size", "step,exponential"},
                                           {"--step-gamma", "step,multi-step,exponential"},
                                           {"--milestones", "multi-step"},
                                           {"--restart-steps", "cosine-restarts"},
                                           {"--restart-factor", "cosine-restarts"},
                                           {"--pct-start", "one-cycle"},
                                           {"--div-factor", "one-cycle"},
                                           {"--final-div-factor", "one-cycle"},
                                           {"--power", "polynomial"},
                                           {"--min-lr", "step,multi-step,exponential,polynomial,linear,cosine,"
                                                        "cosine-restarts,one-cycle,plateau"},
                                           {"--plateau-factor", "plateau"},
                                           {"--plateau-patience", "plateau"},
                                           {"--plateau-metric", "plateau"}};

static bool given(const CLI::App &train, const char *name) { return train.get_option(name)->count() > 0; }

static std::string scheduleOf(const CLI::App &train) {
  return given(train, kSchedule) ? train.get_option(kSchedule)->results().front() : "constant";
}

void checkScheduleOptions(const CLI::App &train) {
  const std::string schedule = scheduleOf(train);
  for (auto [option, schedules] : kUses)
    if (given(train, option) && concat(",", schedules, ",").find("," + schedule + ",") == std::string::npos)
      throw CLI::ValidationError(option, concat("is an option of --schedule ", schedules, ", not of ", schedule));
}

static bool shapes(const CLI::Option &option) {
  static constexpr std::string_view kNames[] = {"--epochs",    "--steps",     "--augment", "--early-stop",
                                                "--save-best", "--val-every", "--nan"};
  return option.get_group() == "Hyperparameters" || option.get_group() == kRate ||
         std::ranges::count(kNames, option.get_name()) > 0;
}

std::string trainingOptions(const CLI::App &train) {
  std::string text;
  for (const CLI::Option *option : train.get_options())
    for (const std::string &value : shapes(*option) ? option->results() : std::vector<std::string>())
      text += concat(text.empty() ? "" : " ", option->get_name(), value.empty() ? "" : "=", value);
  return text.empty() ? "none" : text;
}

/// Returns whether typed options decide what the option would. `otherSchedule`: they name another schedule than the
/// checkpoint's, with options of its own.
static bool decided(const CLI::App &train, const CLI::Option &option, bool otherSchedule) {
  const std::string &name = option.get_name();
  if (name == "--epochs" || name == "--steps")
    return given(train, "--epochs") || given(train, "--steps");
  if (otherSchedule && option.get_group() == kRate && name != "--warmup")
    return true;
  const CLI::Option *all = train.get_option_no_throw("--" + name.substr(name.rfind('.') + 1)); // --lr sets --g.lr, too
  return option.count() > 0 || (all && all->count() > 0);
}

/// Returns whether the option of a checkpoint does nothing without evaluations.
static bool evaluates(const std::string &option) {
  return (option.starts_with("--save-best") || option.starts_with("--early-stop") || option.ends_with("=plateau")) &&
         !option.ends_with("=none");
}

static std::string nameOf(const std::string &option) { return option.substr(0, option.find('=')); }

std::string takeStoredOptions(CLI::App &train, const std::string &stored) {
  const std::vector<std::string> options = optionsIn(stored);
  const bool otherSchedule =
      given(train, kSchedule) && std::ranges::count(options, concat(kSchedule, "=", scheduleOf(train))) == 0;
  std::string text, needy;
  // All are chosen before the first one is added, which would else count as typed.
  for (const std::string &option : options) {
    const CLI::Option *known = train.get_option_no_throw(nameOf(option));
    if (!known || !shapes(*known) || decided(train, *known, otherSchedule))
      continue;
    text += concat(text.empty() ? "" : " ", option);
    if (evaluates(option))
      needy += option + " ";
  }
  if (!needy.empty() && !given(train, "--val"))
    throw CLI::ValidationError("--resume", concat("the training of the checkpoint has ", needy,
                                                  "and evaluates: give --val, or say --save-best=none, "
                                                  "--early-stop=none or --schedule=constant"));
  for (bool adds : {true, false})
    for (const std::string &option : optionsIn(text)) {
      CLI::Option *known = train.get_option(nameOf(option));
      if (adds)
        known->add_result(option.substr(std::min(nameOf(option).size() + 1, option.size())));
      else
        known->run_callback();
    }
  return text;
}

} // namespace mpc::rt
