//===- ExplainCommand.cpp - mpc explain: precision, casts, bytes ----------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Interfaces/Precision.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Train/IR/Train.h"
#include "passes/Memory/Passes.h"
#include "tools/mpc/Common.h"
#include "tools/mpc/TrainingFlags.h"
#include "llvm/Support/FormatVariadic.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace mlir;

namespace mpc::tool {
namespace {

struct ExplainFlags {
  std::string model;
  std::vector<std::string> dims;
  bool json = false;
  ImportOptions import;
  TrainingFlags training;
};

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return StringRef(text).drop_front(strlen("tensor<")).drop_back().str();
}

/// The casts of a step's forward pass, where they stand and why; taken right after autocast.
nlohmann::json castsOf(ModuleOp module) {
  nlohmann::json casts = nlohmann::json::array();
  for (auto step : module.getOps<train::StepOp>())
    step.walk([&](graph::CastOp cast) {
      auto reason = cast->getAttrOfType<StringAttr>("mpc.reason");
      if (!reason)
        return;
      std::string source = "input";
      if (Operation *op = cast.getX().getDefiningOp()) {
        if (auto read = dyn_cast<train::ReadOp>(op))
          source = read.getVariable().str();
        else
          source = locationName(op->getLoc()) + " (" + op->getName().stripDialect().str() + ")";
      } else if (auto arg = dyn_cast<BlockArgument>(cast.getX())) {
        if (auto name = step.getArgAttrOfType<StringAttr>(arg.getArgNumber(), train::kNameAttr))
          source = name.str();
      }
      nlohmann::json users = nlohmann::json::array();
      for (Operation *user : cast->getUsers())
        users.push_back(locationName(user->getLoc()) + " (" + user->getName().stripDialect().str() + ")");
      casts.push_back({{"step", step.getSymName().str()}, {"value", source}, {"from", typeText(cast.getX().getType())},
                       {"to", typeText(cast.getType())}, {"reason", reason.str()}, {"users", users}});
    });
  return casts;
}

/// Every float op of the forward pass with its class and the type it computes in.
nlohmann::json opsOf(ModuleOp module) {
  nlohmann::json ops = nlohmann::json::array();
  for (auto step : module.getOps<train::StepOp>())
    step.walk([&](PrecisionOpInterface op) {
      if (isa<graph::CastOp>(op.getOperation()) || op->getNumResults() == 0 || !graph::isFloat(op->getResult(0)))
        return;
      ops.push_back({{"node", locationName(op->getLoc())}, {"op", op->getName().stripDialect().str()},
                     {"class", stringify(op.getPrecisionClass()).str()}, {"type", typeText(op->getResult(0).getType())}});
    });
  return ops;
}

int explain(ExplainFlags &flags) {
  if (!parseDims(flags.dims, flags.import) || !flags.training.resolve())
    return 1;
  Session session(/*remarks=*/false);
  OwningOpRef<ModuleOp> module = importOnnx(session.context(), flags.model, flags.import);
  if (!module)
    return 1;
  nlohmann::json report = {{"precision", flags.training.options.precision}, {"opt_level", flags.training.options.optLevel},
                           {"casts", nlohmann::json::array()}, {"ops", nlohmann::json::array()}};
  StageObserver observe = [&](StringRef stage, ModuleOp m) {
    if (stage == "autocast")
      report["casts"] = castsOf(m);
    if (stage == "autocast" || (stage == "training" && report["ops"].empty()))
      report["ops"] = opsOf(m);
  };
  if (failed(buildTraining(*module, flags.training.options, observe)))
    return 1;
  nlohmann::json state = nlohmann::json::object();
  for (auto variable : module->getOps<train::VariableOp>()) {
    auto &bytes = state[train::stringifyRole(variable.getRole()).str()];
    bytes = (bytes.is_number() ? bytes.get<int64_t>() : 0) + memory::bytesOf(variable.getType());
  }
  report["state_bytes"] = state;
  HostOptions host;
  host.cpus = {};
  host.libraryScratch = libraryScratch();
  FailureOr<CompiledProgram> program = compileForHost(*module, host, "explain", &flags.training.options);
  if (failed(program))
    return 1;
  report["memory"] = {{"arena", program->arenaBytes}, {"state", program->stateBytes}, {"temporaries", program->temporaryBytes},
                      {"saved_for_backward", program->savedBytes}, {"constants", program->constantBytes}};
  report["launches"] = program->launches;

  auto &out = llvm::outs();
  if (flags.json) {
    out << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return 0;
  }
  out << "precision " << flags.training.options.precision << " " << flags.training.options.optLevel << ", loss scale "
      << flags.training.options.scaler << "\n\ncasts of the forward pass: " << report["casts"].size() << '\n';
  for (auto &cast : report["casts"]) {
    out << "  " << cast["value"].get<std::string>() << ": " << cast["from"].get<std::string>() << " -> " << cast["to"].get<std::string>() << "; "
        << cast["reason"].get<std::string>() << '\n';
  }
  out << "\nops:\n";
  for (auto &op : report["ops"])
    out << llvm::formatv("  {0,-28} {1,-22} {2,-8} {3}\n", op["node"].get<std::string>(), op["op"].get<std::string>(),
                         op["class"].get<std::string>(), op["type"].get<std::string>());
  out << "\nstate, bytes:\n";
  for (auto &[role, bytes] : report["state_bytes"].items())
    out << llvm::formatv("  {0,-12} {1}\n", role, bytes.get<int64_t>());
  out << "\nmemory plan, bytes (" << program->launches << " launches a program):\n";
  for (auto &[what, bytes] : report["memory"].items())
    out << llvm::formatv("  {0,-20} {1}\n", what, bytes.get<int64_t>());
  return 0;
}

} // namespace

void addExplainCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App *command = app.add_subcommand("explain", "Shows every cast with its reason, the precision of every op, and the memory plan");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_flag("--json", flags->json, "As JSON");
  addImportOptions(*command, flags->import, flags->dims);
  flags->training.addTo(*command);
  command->callback([flags, &status] { status = explain(*flags); });
}

} // namespace mpc::tool
