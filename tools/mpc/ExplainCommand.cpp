//===- ExplainCommand.cpp - mpc explain: precision, casts, bytes ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Check.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Train/IR/Carried.h"
#include "runtime/runner/Help.h"
#include "tools/mpc/Common.h"
#include "tools/mpc/ExplainReport.h"
#include "tools/mpc/TrainingFlags.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>

using namespace mlir;
using nlohmann::json;

namespace mpc::tool {
namespace {

struct ExplainFlags {
  std::string model;
  std::vector<std::string> dims;
  std::string mode = "auto";
  bool json = false;
  ImportOptions import;
  TrainingFlags training;
};

int explain(ExplainFlags &flags) {
  if (!parseDims(flags.dims, flags.import) || !flags.training.resolve())
    return 1;
  flags.import.openBatch = kOpenBatch;
  flags.import.mode = modeNamed(flags.mode);
  Session session(/*remarks=*/false);
  ImportReport imported;
  OwningOpRef<ModuleOp> module =
      importForTraining(session.context(), flags.model, flags.import, flags.training.options, imported);
  if (!module)
    return 1;
  const TrainingOptions &options = flags.training.options;
  json report = {{"model", llvm::sys::path::filename(flags.model).str()},
                 {"precision", options.precision},
                 {"opt_level", options.optLevel},
                 {"loss_scale", options.scaler},
                 {"casts", json::array()},
                 {"ops", json::array()}};
  Watch watch;
  watch.stage = [&](StringRef stage, ModuleOp m) {
    if (stage == "training" || stage == "autocast")
      report["ops"] = forwardOps(m);
    if (stage == "training")
      report["steps"] = std::distance(m.getOps<train::StepOp>().begin(), m.getOps<train::StepOp>().end());
    if (stage == "autocast")
      report["casts"] = forwardCasts(m);
  };
  if (failed(buildTraining(*module, options, watch)))
    return 1;
  llvm::append_range(imported.assumed, assumedLosses(*module));
  report["assumed"] = imported.assumed;
  for (std::string &line : flags.training.assumed())
    report["assumed"].push_back(std::move(line));
  report["data"] = dataArrays(*module);
  for (json &cast : laterCasts(*module))
    report["casts"].push_back(std::move(cast));
  json state = json::object();
  for (auto variable : module->getOps<train::VariableOp>()) {
    auto &bytes = state[train::roleName(variable).str()];
    bytes = (bytes.is_number() ? bytes.get<int64_t>() : 0) + graph::bytesOf(variable.getType());
  }
  report["state_bytes"] = state;
  HostOptions host = hostOptions();
  host.cpus = {};
  FailureOr<CompiledProgram> program = compileProgram(*module, {.host = host}, "explain", &options);
  if (failed(program))
    return 1;
  const TargetSummary &plan = program->targets.front();
  report["memory"] = {{"peak", plan.peakBytes},
                      {"state", plan.stateBytes},
                      {"temporaries", plan.temporaryBytes},
                      {"saved_for_backward", plan.savedBytes},
                      {"constants", plan.constantBytes}};
  report["launches"] = plan.launches;
  if (flags.json)
    llvm::outs() << report.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  else
    printReport(report);
  return 0;
}

} // namespace

void addExplainCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App *command =
      app.add_subcommand("explain", "Shows every cast with its reason, the precision of every op, and the memory plan");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_flag("--json", flags->json, "As JSON");
  addModeOption(*command, flags->mode);
  addImportOptions(*command, flags->import, flags->dims);
  flags->training.addTo(*command);
  rt::setExample(*command, "explain model.onnx --precision bf16 --opt-level O2");
  command->callback([flags, &status] { status = explain(*flags); });
}

} // namespace mpc::tool
