//===- CompileForms.h - the values of `mpc compile --emit` ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_COMPILEFORMS_H
#define MPC_TOOLS_MPC_COMPILEFORMS_H
#include "tools/mpc/Common.h"
#include "tools/mpc/Targets.h"
#include "tools/mpc/TrainingFlags.h"

namespace mpc::tool {

/// The options of `mpc compile`.
struct CompileFlags {
  std::string model, output, emit = "exe", cpu, dumpIr, memoryLimit, recompute = "none", ptxas;
  std::vector<std::string> targets = {"host"}, dims, tunings;
  std::string mode = "auto";
  std::string kernelReport; ///< empty without --kernel-report
  bool bundle = false, quiet = false, verbose = false;
  ImportOptions import;
  TrainingFlags training;
};

/// A value of --emit.
struct OutputForm {
  const char *name = "";
  /// Says what the output is, for --help, which prints the text once where neighbouring forms have the same.
  const char *what = "";
  /// The default output's name is the model's name between these two.
  const char *prefix = "", *suffix = "";
  /// Changes the targets to those that this form needs. Returns false after a message where the options ask for others.
  /// It is null for a form that takes any targets.
  bool (*chooseTargets)(const CompileFlags &flags, TargetOptions &targets) = nullptr;
  /// Lowers the target-free module. It is null for a form whose output is that module.
  llvm::FailureOr<CompiledProgram> (*lower)(mlir::ModuleOp module, const TargetOptions &targets, llvm::StringRef name,
                                            const TrainingOptions &training, const Watch &watch) = nullptr;
  /// Writes the output and names its files. Returns false after a message.
  bool (*write)(mlir::Location location, const CompileFlags &flags, const OutputForm &form,
                const CompiledProgram &program, const std::vector<std::string> &inputs,
                std::vector<std::string> &written) = nullptr;
  const char *runtime = ""; ///< the file beside mpc that the output starts with; the program's sections follow it
  bool loads = false;       ///< whether the output opens libraries, which --bundle puts beside it
  bool header = false;      ///< whether mpc writes a C header beside the output
  bool trains = false;      ///< whether the output is a command that trains
};

/// The row of a name; CLI11 has checked it.
const OutputForm &formNamed(llvm::StringRef name);
std::vector<std::string> formNames();
/// Returns "exe: a program; ...; obj, llvm: the kernels ...".
std::string describeForms();
/// Returns whether the outputs whose names are known before the compilation may be written: none is a file that is
/// read, and an existing header must be ours.
bool knownOutputsAreFree(const CompileFlags &flags, const OutputForm &form, const std::vector<std::string> &inputs);

} // namespace mpc::tool
#endif
