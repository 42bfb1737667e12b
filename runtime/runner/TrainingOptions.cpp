// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runner/TrainingOptions.h"

#include "runtime/core/Train.h"
#include "runtime/core/state/Checkpoint.h"
#include "runtime/runner/CommandLine.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace mpc::rt {

static constexpr char kSchedule[] = "--schedule";

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

static bool given(const CLI::App &train, const std::string &name) { return train.get_option(name)->count() > 0; }

static std::string scheduleOf(const CLI::App &train) {
  return given(train, kSchedule) ? train.get_option(kSchedule)->results().front() : "constant";
}

/// Returns the schedules that use the option, where the schedule is none of them, and null otherwise.
static const char *usedByOthers(const std::string &option, const std::string &schedule) {
  for (auto [name, schedules] : kUses)
    if (option == name && concat(",", schedules, ",").find("," + schedule + ",") == std::string::npos)
      return schedules;
  return nullptr;
}

void checkScheduleOptions(const CLI::App &train) {
  const std::string schedule = scheduleOf(train);
  for (auto [option, schedules] : kUses)
    if (given(train, option) && usedByOthers(option, schedule))
      throw CLI::ValidationError(option, concat("is an option of --schedule ", schedules, ", not of ", schedule));
}

static bool shapes(const CLI::Option &option) {
  static constexpr std::string_view kNames[] = {"--epochs",    "--steps",     "--augment", "--early-stop",
                                                "--save-best", "--val-every", "--nan"};
  return option.get_group() == "Hyperparameters" || option.get_group() == "Learning rate" ||
         std::ranges::count(kNames, option.get_name()) > 0;
}

std::string trainingOptions(const CLI::App &train) {
  std::string text;
  for (const CLI::Option *option : train.get_options())
    for (const std::string &value : shapes(*option) ? option->results() : std::vector<std::string>())
      text += concat(text.empty() ? "" : " ", option->get_name(), value.empty() ? "" : "=", value);
  return text.empty() ? "none" : text;
}

/// Returns whether typed options decide what the option would.
static bool decided(const CLI::App &train, const std::string &name) {
  if (name == "--epochs" || name == "--steps")
    return given(train, "--epochs") || given(train, "--steps");
  const size_t dot = name.find('.'); // --lr also sets the --generator.lr of the checkpoint
  const CLI::Option *all = dot == name.npos ? nullptr : train.get_option_no_throw("--" + name.substr(dot + 1));
  return given(train, name) || (all && all->count() > 0);
}

/// Returns whether the option of a checkpoint does nothing without evaluations.
static bool evaluates(const std::string &option) {
  return (option.starts_with("--save-best") || option.starts_with("--early-stop") ||
          option == concat(kSchedule, "=plateau")) &&
         !option.ends_with("=none");
}

std::string takeStoredOptions(CLI::App &train, const std::string &folder) {
  // A schedule that is typed replaces the checkpoint's, with the options that only that one uses.
  const std::string schedule = given(train, kSchedule) ? scheduleOf(train) : "";
  std::string taken;
  for (const std::string &text : optionsIn(optionsOfNewest(folder))) {
    const std::string name = text.substr(0, text.find('='));
    CLI::Option *option = train.get_option_no_throw(name);
    if (!option || !shapes(*option) || decided(train, name) || (!schedule.empty() && usedByOthers(name, schedule)))
      continue;
    if (evaluates(text) && !given(train, "--val"))
      throw CLI::ValidationError("--resume", concat("the training of the checkpoint has ", text,
                                                    ", which evaluates: give --val, or ", name,
                                                    name == kSchedule ? "=constant" : "=none"));
    option->add_result(text.size() > name.size() ? text.substr(name.size() + 1) : "");
    option->run_callback();
    taken += concat(taken.empty() ? "" : " ", text);
  }
  return taken;
}

} // namespace mpc::rt
