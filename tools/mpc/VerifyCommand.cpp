//===- VerifyCommand.cpp - mpc verify: compares a training step with PyTorch's ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/ProgramFile.h"
#include "compiler/Pipeline/Check.h"
#include "dialects/Support/Diagnostics.h"
#include "dialects/Support/Numbers.h"
#include "dialects/Train/IR/Names.h"
#include "runtime/runner/Help.h"
#include "runtime/support/Error.h"
#include "tools/mpc/Common.h"
#include "tools/mpc/FirstDifference.h"
#include "tools/mpc/Targets.h"
#include "tools/mpc/TrainingFlags.h"
#include "tools/mpc/VerifyReport.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>

using namespace mlir;
using Row = mpc::tool::VerifyRow;

namespace mpc::tool {
namespace {

struct VerifyFlags {
  std::string model, reference, json, ptxas;
  std::vector<std::string> targets = {"host"}, dims;
  std::string mode = "auto";
  rt::SessionOptions session;
  ImportOptions import;
  TrainingFlags training;
};

/// Takes from the reference what the user leaves open. Throws rt::Error for a batch that it does not have.
void complete(VerifyFlags &flags, const Reference &reference) {
  TrainingRequest &request = flags.training.request;
  if (!request.loss)
    request.loss = reference.loss;
  if (!request.precision)
    request.precision = "fp32";
  request.optimizer = "sgd"; // runs with a learning rate of 0
  ImportOptions &import = flags.import;
  import.mode = modeNamed(flags.mode);
  import.openDims = reference.dims;
  bool hasBatch = !import.batch;
  for (const std::string &input : reference.names("input"))
    if (rt::Shape shape = reference.shapeOf("input/" + input); !shape.empty()) {
      hasBatch |= import.batch == shape.front();
      if (!import.openBatch)
        import.openBatch = shape.front();
    }
  if (!hasBatch)
    rt::fail("--batch", rt::concat("no input of ", reference.path, " has a leading dimension of ", *import.batch),
             "leave it out: the reference has its own; or write the reference again for this batch");
}

/// Emits an error and fails where a parameter has no value in the file, since PyTorch's would be another.
LogicalResult requireValues(ModuleOp module) {
  for (auto variable : module.getOps<train::VariableOp>())
    if (variable.getRole() == train::Role::parameter && !isa<ElementsAttr>(variable.getInit()))
      return emitErrorWithHint(variable.getLoc(),
                               "parameter '" + train::userName(variable) +
                                   "' has no value in the file, and would start with another one than in PyTorch",
                               "export the module with its weights, for example by tools/torch/export.py");
  return success();
}

//===-- What differs ------------------------------------------------------------------------===//

std::string nodeText(StringRef node, StringRef op) {
  return ("node '" + node + (op.empty() ? Twine("'") : "' (" + op + ")")).str();
}

/// The parameters whose gradients differ as numbers.
std::vector<std::string> differing(ArrayRef<Row> rows) {
  std::vector<std::string> names;
  for (const Row &row : rows)
    if (!row.ok && row.kind == Row::Kind::Gradient && row.error)
      names.push_back(row.name);
  return names;
}

/// Returns lines about what the forward pass shows.
std::vector<std::string> describe(const ForwardComparison &forward) {
  std::vector<std::string> lines;
  if (!forward.skipped.empty())
    lines.push_back("forward pass: not compared value by value: " + forward.skipped);
  else if (forward.first)
    lines.push_back(llvm::formatv("first difference: value '{0}' of {1} has the norm {2:e5}, PyTorch's {3:e5}; {4}",
                                  forward.first->name, nodeText(forward.first->node, forward.first->op),
                                  forward.first->norm, forward.first->norm64,
                                  forward.compared == 1
                                      ? std::string("it is the first value that both sides have")
                                      : "the " + std::to_string(forward.compared - 1) + " values before it agree")
                        .str());
  else
    lines.push_back(
        llvm::formatv("forward pass: the {0} values that both sides have agree in float64", forward.compared).str());
  if (forward.nearest && !forward.first)
    lines.push_back("first difference: of the gradients that differ, that of '" + forward.nearest->parameter +
                    "' is nearest to the loss; " + nodeText(forward.nearest->node, forward.nearest->op) + " reads it");
  return lines;
}

bool anyDiffers(ArrayRef<Row> rows, Row::Kind kind, std::optional<Row::Cause> cause = {}) {
  return llvm::any_of(
      rows, [&](const Row &row) { return !row.ok && row.kind == kind && row.cause == cause.value_or(row.cause); });
}
const Row *withCause(ArrayRef<Row> rows, Row::Cause cause) {
  auto row = llvm::find_if(rows, [&](const Row &each) { return !each.ok && each.cause == cause; });
  return row == rows.end() ? nullptr : &*row;
}

/// Returns whether low precision may explain what differs, because no number is off by more than `times` its bound.
bool mayBeRounding(ArrayRef<Row> rows, double times) {
  return llvm::none_of(rows, [&](const Row &row) { return row.error && row.bound && *row.error > times * *row.bound; });
}

/// Says what the likely cause is, and what to do next.
std::string hintFor(const VerifyFlags &flags, bool byTool, ArrayRef<Row> rows, const ForwardComparison &forward) {
  const std::string check = "'mpc check " + flags.model + "'",
                    again = byTool ? "write that part of the module in another way, and export it again, for "
                                     "tools/torch/export.py may have lost something"
                                   : "export the module again with tools/torch/export.py";
  if (forward.first)
    return nodeText(forward.first->node, forward.first->op) + " does not compute what the module does: " + again +
           "; " + check + " lists what the import assumes";
  if (withCause(rows, Row::Cause::Shape) || withCause(rows, Row::Cause::Absent))
    return "the file has other tensors than the module: " + again;
  if (const Row *row = withCause(rows, Row::Cause::NotTrained))
    return "train it as PyTorch does: take it out of --freeze, or name it with --trainable=+" + row->name + "; " +
           check + " lists what is trained, and why";
  if (const Row *row = withCause(rows, Row::Cause::OnlyTrainedHere))
    return "PyTorch gives it no gradient: keep it with --freeze=" + row->name +
           ", or, where the module detaches what it makes of it, " + again + " or use --stop-gradient=REGEX";
  const bool isLow = flags.training.options.precision != "fp32";
  if (!(isLow && mayBeRounding(rows, 4)) &&
      llvm::all_of(rows, [](const Row &row) { return row.ok || row.kind == Row::Kind::Evaluation; }))
    return "training agrees, and forward computes something else in eval mode, as under 'if self.training:' or by "
           "F.batch_norm(training=True): move that out of forward (running statistics of instance norms, too, are in "
           "no file), or evaluate the trained weights in PyTorch";
  if (isLow && mayBeRounding(rows, 16))
    return "run this again with --precision=fp32: if that agrees, the difference is " +
           flags.training.options.precision + "'s rounding, and 'mpc explain' shows where it rounds";
  if (anyDiffers(rows, Row::Kind::Loss))
    return "give the loss that the module is trained with, with all its options, by --loss (here: " +
           *flags.training.request.loss + "), or " + again;
  if (anyDiffers(rows, Row::Kind::Gradient))
    return "the file may lack a gradient stop (detach, torch.no_grad) or a frozen part: " + again +
           ", or name the values with --stop-gradient=REGEX, the parameters with --freeze=REGEX";
  return "the file does not update a buffer as the module does: " + again;
}

int reportDifference(const VerifyFlags &flags, bool byTool, ArrayRef<Row> rows, const ForwardComparison &forward) {
  const int64_t differ = llvm::count_if(rows, [](const Row &row) { return !row.ok; });
  const Row &first = *llvm::find_if(rows, [](const Row &row) { return !row.ok; });
  std::string what = (first.kind == Row::Kind::Gradient     ? "the gradient of '" + first.name + "'"
                      : first.kind == Row::Kind::Buffer     ? "the buffer '" + first.name + "'"
                      : first.kind == Row::Kind::Evaluation ? "the output '" + first.name + "' in eval mode"
                                                            : "'" + first.name + "'");
  if (differ > 1)
    what =
        std::to_string(differ) + " of " + std::to_string(rows.size()) + " numbers differ from PyTorch's, first " + what;
  else
    what += " differs from PyTorch's";
  return fail(flags.model, what, hintFor(flags, byTool, rows, forward));
}

int reportAgreement(const VerifyFlags &flags, ArrayRef<Row> rows) {
  const int64_t weak = llvm::count_if(rows, [](const Row &row) { return row.saysLittle; });
  llvm::outs() << "ok: " << flags.model << " trains as PyTorch does: " << rows.size() << " numbers agree"
               << (weak == 0 ? "" : ", " + std::to_string(weak) + " of them within bounds that say little") << '\n';
  return 0;
}

//===-- The command -------------------------------------------------------------------------===//

void printHead(const VerifyFlags &flags, const Reference &reference, const StepNumbers &numbers, int dropouts) {
  auto &out = llvm::outs();
  const TrainingOptions &training = flags.training.options;
  out << "verify: " << flags.model << " against " << flags.reference << " (PyTorch " << reference.torch
      << "): " << training.precision << (training.precision == "fp32" ? "" : " " + training.optLevel) << " on "
      << numbers.device << '\n'
      << "loss: " << *flags.training.request.loss << (training.loss == reference.loss ? ", as in the reference" : "")
      << '\n';
  if (dropouts > 0)
    out << "dropout: off, as in the reference: " << dropouts << '\n';
  if (numbers.scale)
    out << "loss scale: " << shortestText(*numbers.scale)
        << (numbers.overflows == 0 ? "" : llvm::formatv(", after {0} steps that overflowed", numbers.overflows).str())
        << "; the gradients are unscaled\n";
}

bool writeJson(MLIRContext &context, const VerifyFlags &flags, const Reference &reference, const StepNumbers &numbers,
               ArrayRef<Row> rows, ArrayRef<std::string> lines, bool equal) {
  if (flags.json.empty())
    return true;
  nlohmann::json j = {{"model", flags.model},
                      {"reference", flags.reference},
                      {"torch", reference.torch},
                      {"loss", flags.training.options.loss},
                      {"precision", flags.training.options.precision},
                      {"device", numbers.device},
                      {"numbers", rowsAsJson(rows)},
                      {"differences", lines},
                      {"ok", equal}};
  if (numbers.scale)
    j["loss_scale"] = *numbers.scale;
  return succeeded(writeFileAtomically(NameLoc::get(StringAttr::get(&context, flags.json)), flags.json,
                                       j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
}

int verify(VerifyFlags &flags) {
  std::optional<Reference> reference;
  auto prepare = [&] {
    reference.emplace(flags.reference);
    complete(flags, *reference);
  };
  if (std::optional<rt::Error> error = rt::attempt(prepare)) {
    say(error->text());
    return 1;
  }
  TargetOptions targets;
  if (!parseDims(flags.dims, flags.import) || !flags.training.resolve() ||
      !parseTargets(flags.targets, flags.ptxas, targets))
    return 1;
  if (targets.host) {
    targets.host = hostOptions();
    targets.host->cpus = {HostCpu::native()};
  }

  Session session(/*remarks=*/false);
  ImportReport imported;
  OwningOpRef<ModuleOp> module =
      importForTraining(session.context(), flags.model, flags.import, flags.training.options, imported);
  imported.files.push_back(flags.reference);
  if (!module || (!flags.json.empty() && !outputsAreFree(flags.json, imported.files)) || failed(requireValues(*module)))
    return 1;
  const int dropouts = reference->dropoutOff ? replaceDropout(*module) : 0;
  const std::map<std::string, std::string> variances = runningVariances(*module);
  if (failed(refuseRandomNumbers(*module)) || failed(buildTraining(*module, flags.training.options)))
    return 1;
  FailureOr<CompiledProgram> program =
      compileProgram(*module, targets, llvm::sys::path::stem(flags.model), &flags.training.options);
  if (failed(program) || !addEmulator(targets, *program))
    return 1;
  program->sections["installation"] = executableFolder();
  module = nullptr;

  int status = 1;
  auto compare = [&] {
    flags.session.note = [](const std::string &line) { say("note: " + line + "\n"); };
    const StepNumbers numbers = runStep(std::move(*program), *reference, flags.session);
    printHead(flags, *reference, numbers, dropouts);
    const std::vector<Row> rows =
        compareStep(numbers, *reference, imported, variances, toleranceOf(flags.training.options.precision));
    printRows(rows);
    const bool equal = llvm::all_of(rows, [](const Row &row) { return row.ok; });
    ForwardComparison forward;
    std::vector<std::string> lines;
    if (!equal) {
      forward = compareForward(flags.model, flags.import, *reference, differing(rows), numbers.multiplyAdds);
      lines = describe(forward);
      for (const std::string &line : lines)
        llvm::outs() << line << '\n';
    }
    if (!writeJson(session.context(), flags, *reference, numbers, rows, lines, equal))
      return;
    status = equal ? reportAgreement(flags, rows) : reportDifference(flags, imported.byTool, rows, forward);
  };
  if (std::optional<rt::Error> error = rt::attempt(compare)) {
    say(error->text());
    return 1;
  }
  return status;
}

} // namespace

void addVerifyCommand(CLI::App &app, int &status) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App *command = app.add_subcommand(
      "verify",
      "Compares the loss and every gradient of one training step, and the outputs in eval mode, with PyTorch's");
  command->add_option("model", flags->model, "ONNX file")->required();
  command
      ->add_option("--reference", flags->reference,
                   "PyTorch's numbers for one step, as tools/torch/export.py --reference writes them")
      ->required();
  command->add_option("--json", flags->json, "Also write the comparison to this file, as JSON");
  addTargetOption(*command, flags->targets);
  addPtxasOption(*command, flags->ptxas);
  command
      ->add_option("--device", flags->session.device,
                   "Where the step runs: auto (a GPU of --target where there is one, else the host), cuda, host or "
                   "emulator")
      ->check(CLI::IsMember({"auto", "cuda", "host", "emulator"}))
      ->capture_default_str();
  command->add_option("--arch", flags->session.arch,
                      "emulator: the architecture, of those of --target (default: the newest)");
  addHostOptions(*command, flags->session);
  addModeOption(*command, flags->mode);
  addImportOptions(*command, flags->import, flags->dims);
  command->get_option("--batch")->description("Leading dimension of the data inputs (default: the reference's)");
  command->remove_option(command->get_option("--init")); // parameters must have values
  flags->training.addTo(*command, [](const TrainingFlag &flag) {
    const StringRef group = flag.group, name = flag.name;
    return group == "Precision" || group == "Loss scaling" || name == "loss";
  });
  command->get_option("--precision")->default_str("fp32");
  command->get_option("--loss")->description("The reference's loss, unless another one is given");
  command->footer(describeTolerances());
  rt::setExample(*command, "verify model.onnx --reference reference.npz --precision fp16");
  command->callback([flags, &status] { status = verify(*flags); });
}

} // namespace mpc::tool
