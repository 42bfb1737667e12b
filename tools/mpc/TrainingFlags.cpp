// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/TrainingFlags.h"
#include "dialects/Train/Optimizers/Registry.h"
#include "runtime/runner/Checks.h"
#include "tools/mpc/Common.h"
#include "llvm/ADT/STLExtras.h"
#include <CLI/CLI.hpp>

namespace mpc::tool {

namespace {
/// Adds one option to a command line, by the type of what it sets.
struct AddOption {
  CLI::App &app;
  const TrainingFlag &flag;
  TrainingRequest &request;

  CLI::Option *operator()(bool TrainingRequest::*member) const {
    const std::string negation = flag.values.negation;
    return app.add_flag("--" + std::string(flag.name) + (negation.empty() ? "" : ",!--" + negation), request.*member,
                        flag.doc);
  }
  CLI::Option *operator()(std::vector<std::string> TrainingRequest::*member) const {
    CLI::Option *option = app.add_option("--" + std::string(flag.name), request.*member, flag.doc);
    return flag.values.commas ? option->delimiter(',') : option->allow_extra_args(false);
  }
  CLI::Option *operator()(std::vector<double> TrainingRequest::*member) const {
    return app.add_option("--" + std::string(flag.name), request.*member, flag.doc)->delimiter(',')->expected(2);
  }
  template <class T>
  CLI::Option *operator()(std::optional<T> TrainingRequest::*member) const {
    CLI::Option *option = app.add_option("--" + std::string(flag.name), request.*member, flag.doc);
    if (!flag.values.choices.empty())
      option->check(CLI::IsMember(flag.values.choices));
    if (flag.values.positive)
      option->check(std::is_same_v<T, double> ? rt::finiteNumber(/*aboveZero=*/true) : rt::positiveCount());
    return *flag.values.standard ? option->default_str(flag.values.standard) : option;
  }
};
} // namespace

void TrainingFlags::addTo(CLI::App &app, llvm::function_ref<bool(const TrainingFlag &)> wanted) {
  for (const TrainingFlag &flag : trainingFlags())
    if (!wanted || wanted(flag))
      std::visit(AddOption{app, flag, request}, flag.member)->group(flag.group);
}

bool TrainingFlags::resolve() {
  auto error = [](llvm::StringRef where, const llvm::Twine &what, const llvm::Twine &hint) { fail(where, what, hint); };
  mlir::FailureOr<TrainingOptions> resolved = resolveTraining(request, runtimeHooks(), error);
  if (mlir::failed(resolved))
    return false;
  options = std::move(*resolved);
  return true;
}

static std::string shortText(double value) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

void TrainingFlags::assumeOptimizer(std::vector<std::string> &lines) const {
  if (!options.steps.empty() &&
      llvm::all_of(options.steps, [](llvm::StringRef step) { return step.contains(":optimizer="); }))
    return; // each step names its own optimizer
  auto [name, hyperparameters] = llvm::StringRef(options.optimizer).split(',');
  if (!request.optimizer)
    lines.push_back(("--optimizer=" + name).str());
  const optimizers::Optimizer *known = optimizers::findOptimizer(name);
  if (!known || hyperparameters.starts_with("lr=") || hyperparameters.contains(",lr="))
    return;
  lines.push_back((llvm::Twine("--lr=") + shortText(known->lr.defaultValue) + ": the default of " + name +
                   "; the program's own --lr changes it too")
                      .str());
}

std::vector<std::string> TrainingFlags::assumed() const {
  std::vector<std::string> lines;
  if (!request.precision)
    lines.push_back("--precision=" + options.precision +
                    (options.precision == "fp32" ? ": the precision of level O0" : ""));
  if (options.precision != "fp32") {
    if (!request.optLevel)
      lines.push_back("--opt-level=" + options.optLevel + ": autocast by op");
    if (request.lossScale.value_or("").empty())
      lines.push_back(("--loss-scale=" + llvm::StringRef(options.scaler).split(',').first).str());
  }
  assumeOptimizer(lines);
  return lines;
}

} // namespace mpc::tool
