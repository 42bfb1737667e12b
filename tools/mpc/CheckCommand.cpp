//===- CheckCommand.cpp - mpc check: lists everything that keeps a model from training, at once ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline/Check.h"
#include "runtime/runner/Help.h"
#include "tools/mpc/Common.h"
#include "tools/mpc/TrainingFlags.h"
#include "llvm/Support/FormatVariadic.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace mlir;

namespace mpc::tool {
namespace {

struct CheckFlags {
  std::string model;
  std::vector<std::string> dims;
  std::string mode = "auto";
  bool json = false;
  ImportOptions import;
  TrainingFlags training;
};

void printText(const TrainingReport &report, const TrainingFlags &training) {
  auto &out = llvm::outs();
  if (report.opset == 0) // no model was read
    return;
  out << "opset " << report.opset << ", IR version " << report.irVersion
      << (report.producer.empty() ? "" : ", by " + report.producer) << '\n';
  out << "ops:";
  for (const auto &[op, count] : report.opCount)
    out << ' ' << op << 'x' << count;
  out << '\n';
  for (const std::string &note : report.notes)
    out << "note: " << note << '\n';
  for (const TensorVerdict &tensor : report.tensors)
    out << llvm::formatv("{0,-10} {1}: {2} ({3})\n", tensor.role, tensor.name, tensor.type, tensor.why);
  for (const std::string &group : report.groups)
    out << "group: " << group << '\n';
  for (const std::string &dim : report.unboundDims)
    out << "unbound: " << dim << '\n';
  printAssumed(report.assumed, training, report.data);
}

nlohmann::json toJson(const TrainingReport &report, const TrainingFlags &training) {
  using nlohmann::json;
  json j = {{"opset", report.opset},         {"ir_version", report.irVersion},
            {"producer", report.producer},   {"ops", report.opCount},
            {"notes", report.notes},         {"assumed", report.assumed},
            {"groups", report.groups},       {"data", report.data},
            {"unbound", report.unboundDims}, {"problems", json::array()},
            {"tensors", json::array()},      {"ok", report.ok()}};
  for (std::string &line : training.assumed())
    j["assumed"].push_back(std::move(line));
  for (const ImportProblem &p : report.problems)
    j["problems"].push_back({{"node", p.node},
                             {"op", p.op},
                             {"opset", p.opset},
                             {"attribute", p.attribute},
                             {"why", p.why},
                             {"hint", p.hint},
                             {"path", p.path}});
  for (const TensorVerdict &t : report.tensors)
    j["tensors"].push_back({{"name", t.name}, {"type", t.type}, {"role", t.role}, {"why", t.why}});
  return j;
}

int check(CheckFlags &flags) {
  if (!parseDims(flags.dims, flags.import) || !flags.training.resolve())
    return 1;
  flags.import.openBatch = kOpenBatch;
  flags.import.mode = modeNamed(flags.mode);
  Session session(/*remarks=*/false);
  TrainingReport report = checkTraining(session.context(), flags.model, flags.import, flags.training.options);
  if (flags.json) {
    llvm::outs() << toJson(report, flags.training).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                 << '\n';
    return !report.ok();
  }
  printText(report, flags.training);
  for (const ImportProblem &p : report.problems) {
    say("error: " + p.node + ": " + (p.op.empty() ? "" : "'" + p.op + "' (opset " + std::to_string(p.opset) + "): ") +
        p.why + "\n");
    for (const std::string &at : p.path)
      say("note: " + at + "\n");
    say("hint: " + p.hint + "\n");
  }
  if (!report.ok())
    return 1;
  llvm::outs() << "ok: " << flags.model << " can be trained\n";
  return 0;
}

} // namespace

void addCheckCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App *command = app.add_subcommand("check", "Lists everything that is unsupported, and what is trained");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_flag("--json", flags->json, "As JSON");
  addModeOption(*command, flags->mode);
  addImportOptions(*command, flags->import, flags->dims);
  flags->training.addTo(*command);
  rt::setExample(*command, "check model.onnx --batch 64 --loss softmax_cross_entropy:logits:label");
  command->callback([flags, &status] { status = check(*flags); });
}

} // namespace mpc::tool
