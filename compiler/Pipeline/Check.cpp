#include "compiler/Pipeline/Check.h"
#include "dialects/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;

/// An error as a problem: its hint and the notes behind it.
static ImportProblem problemOf(Diagnostic &diagnostic) {
  ImportProblem problem;
  problem.node = locationName(diagnostic.getLocation());
  problem.why = diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string text = note.str();
    if (StringRef(text).starts_with("hint: "))
      problem.hint = text.substr(6);
    else
      problem.path.push_back(text);
  }
  if (problem.hint.empty())
    problem.hint = "choose another loss, precision or part of the network to train";
  return problem;
}

static ImportReport checkWith(MLIRContext &context, const ImportOptions &given, const TrainingOptions &training,
                              function_ref<OwningOpRef<ModuleOp>(const ImportOptions &, ImportReport &)> import) {
  ImportOptions options = given;
  options.keepGoing = true;
  ImportReport report;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); }); // all of it is in the report
    module = import(options, report);
  }
  if (!module)
    return report;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      report.problems.push_back(problemOf(diagnostic));
    else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
      report.notes.push_back(locationName(diagnostic.getLocation()) + ": " + diagnostic.str());
    return success();
  });
  // What the host's lowering refuses is found by its plan, which costs no code generation.
  if (succeeded(buildTraining(*module, training)) && report.ok())
    (void)planForHost(*module, HostOptions());
  return report;
}

ImportReport mpc::checkTraining(MLIRContext &context, StringRef path, const ImportOptions &options, const TrainingOptions &training) {
  return checkWith(context, options, training, [&](const ImportOptions &own, ImportReport &report) { return importOnnx(context, path, own, &report); });
}

ImportReport mpc::checkTrainingBytes(MLIRContext &context, StringRef bytes, StringRef name, StringRef folder, const ImportOptions &options,
                                     const TrainingOptions &training) {
  return checkWith(context, options, training,
                   [&](const ImportOptions &own, ImportReport &report) { return importOnnxBytes(context, bytes, name, folder, own, &report); });
}
