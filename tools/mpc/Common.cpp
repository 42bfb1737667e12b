// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc/Common.h"
#include "dialects/Support/Diagnostics.h"
#include "runtime/core/Device.h"
#include "runtime/core/Program.h"
#include "runtime/runner/Checks.h"
#include "runtime/runner/Help.h"
#include "runtime/support/Error.h"
#include "runtime/support/Outputs.h"
#include "runtime/support/Standard.h"
#include "runtime/support/Terminal.h"
#include "tools/mpc/TrainingFlags.h"
#include <CLI/CLI.hpp>

using namespace mlir;

namespace mpc::tool {

void say(const Twine &text) { llvm::errs() << rt::withPaintedLabels(text.str(), 2); }

static void print(Diagnostic &diagnostic) {
  const char *severity = "note";
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    severity = "error";
    break;
  case DiagnosticSeverity::Warning:
    severity = "warning";
    break;
  case DiagnosticSeverity::Remark:
    severity = "remark";
    break;
  case DiagnosticSeverity::Note:
    break;
  }
  std::string text = diagnostic.str(), where = locationName(diagnostic.getLocation());
  // A hint belongs to the error above it and needs no location of its own.
  if (diagnostic.getSeverity() == DiagnosticSeverity::Note && StringRef(text).starts_with("hint: "))
    say(text + "\n");
  else
    say(Twine(severity) + ": " + (where == "unknown" ? "" : where + ": ") + text + "\n");
  bool hinted = false;
  for (Diagnostic &note : diagnostic.getNotes()) {
    hinted |= StringRef(note.str()).starts_with("hint: ");
    print(note);
  }
  // Every user's mistake comes with a hint; an error without one was not foreseen.
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error && !hinted)
    say("hint: mpc did not foresee this: report it with the model and the command\n");
}

Session::Session(bool remarks) {
  DialectRegistry registry;
  registerAllDialects(registry);
  mlirContext = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  mlirContext->loadAllAvailableDialects();
  mlirContext->printOpOnDiagnostic(false); // messages name nodes; --dump-ir shows IR
  handler = std::make_unique<ScopedDiagnosticHandler>(mlirContext.get(), [remarks](Diagnostic &diagnostic) {
    if (remarks || diagnostic.getSeverity() != DiagnosticSeverity::Remark)
      print(diagnostic);
    return success();
  });
}

CLI::Validator positiveInteger() { return rt::wholeNumber(1, INT64_MAX, "a positive whole number"); }

int fail(StringRef where, const Twine &what, const Twine &hint) {
  say("error: " + where + ": " + what + "\nhint: " + hint + "\n");
  return 1;
}

int finishOutput(int status) {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  bool lost = out.has_error() || !rt::standardOutputIsWritten();
  out.clear_error(); // otherwise the stream would end the process like a crash
  if (!lost || status != 0)
    return status;
  return fail("standard output", "cannot be written: a part of what was printed is lost",
              "let it go to a file, or leave '>&-' out");
}

bool outputsAreFree(ArrayRef<std::string> outputs, const std::vector<std::string> &inputs) {
  std::optional<rt::Error> error = rt::attempt([&] {
    for (const std::string &output : outputs)
      rt::checkOutput(output, inputs);
  });
  if (error)
    say(error->text());
  return !error;
}

void printAssumed(ArrayRef<std::string> found, const TrainingFlags &training, ArrayRef<std::string> data) {
  for (const std::string &line : found)
    llvm::outs() << "assumed: " << line << '\n';
  for (const std::string &line : training.assumed())
    llvm::outs() << "assumed: " << line << '\n';
  for (const std::string &line : data)
    llvm::outs() << "data: " << line << '\n';
}

void addImportOptions(CLI::App &app, ImportOptions &options, std::vector<std::string> &dims) {
  rt::beginGroup(app, kNetworkGroup);
  app.add_option("--batch", options.batch,
                 "Leading dimension of the data inputs; binds or rebinds it (default: the file's; 32 for training "
                 "where that is open)")
      ->check(positiveInteger());
  app.add_option("--dim", dims, "NAME=VALUE: binds a named dimension")->allow_extra_args(false);
  app.add_option("--params", options.params, "REGEX: graph inputs that are parameters");
  app.add_option("--trainable", options.trainable,
                 "REGEX: the initializers that are trained, wherever they stand; +REGEX: these besides those that "
                 "stand where parameters do");
  app.add_option("--freeze", options.freeze, "REGEX: parameters that are not trained");
  app.add_option("--stop-gradient", options.stopGradient,
                 "REGEX: values of nodes behind which no gradient goes on, as torch's detach and no_grad; mpc reads "
                 "these from files of torch's newer exporter where they tell of them");
  app.add_option("--untie", options.untie,
                 "REGEX: initializers of which each use is a parameter of its own, for exporters merge equal tensors");
  app.add_flag("--accept-exported", options.acceptExported,
               "train what torch's exporter made of the network, also where parameters of the module are lost in it");
  app.add_option("--init", options.init, "Initializer for parameters that have no value")
      ->check(CLI::IsMember({"kaiming", "xavier", "normal"}))
      ->capture_default_str();
}

void addModeOption(CLI::App &app, std::string &mode) {
  rt::beginGroup(app, kNetworkGroup);
  app.add_option("--mode", mode,
                 "Batch norms and dropouts in inference form. train: they train; as-exported: they stay; auto: they "
                 "stay in a file that was exported for training, else they train")
      ->check(CLI::IsMember({"auto", "train", "as-exported"}))
      ->capture_default_str();
}

TrainingMode modeNamed(StringRef mode) {
  return mode == "train" ? TrainingMode::Train : mode == "as-exported" ? TrainingMode::AsExported : TrainingMode::Auto;
}

bool parseDims(const std::vector<std::string> &dims, ImportOptions &options) {
  for (const std::string &item : dims) {
    auto [name, text] = StringRef(item).split('=');
    int64_t value = 0;
    if (name.empty() || text.getAsInteger(10, value) || value < 1) {
      fail("--dim", "'" + Twine(item) + "' is not NAME=VALUE with a positive VALUE", "write for example --dim seq=128");
      return false;
    }
    options.dims[name.str()] = value;
  }
  return true;
}

std::shared_ptr<const rt::Program> programInMemory(CompiledProgram &&program) {
  std::string manifest = std::move(program.sections["manifest.json"]);
  program.sections.erase("manifest.json");
  return rt::Program::fromMemory(manifest, std::move(program.sections));
}

void addHostOptions(CLI::App &app, rt::DeviceOptions &options) {
  rt::beginGroup(app, "Machine");
  app.add_option("--threads", options.threads, "Threads (default: all CPUs)")
      ->check(rt::wholeNumber(0, 4096, "a number of threads from 0 to 4096"));
  app.add_option("--library", options.library, "auto, onednn or generic")
      ->check(CLI::IsMember({"auto", "onednn", "generic"}))
      ->capture_default_str();
}

void addCommands(CLI::App &app, int &status) {
  addCompileCommand(app, status);
  addCheckCommand(app, status);
  addExplainCommand(app, status);
  addVerifyCommand(app, status);
  addRunCommand(app, status);
  addExportCommand(app, status);
  addOpsCommand(app, status);
}

} // namespace mpc::tool
