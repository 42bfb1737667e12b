//===- Common.h - code that the subcommands of mpc share -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_COMMON_H
#define MPC_TOOLS_MPC_COMMON_H
#include "compiler/Import/Onnx/Importer.h"
#include "compiler/Pipeline/Pipeline.h"
#include "tools/mpc/HostLibrary.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include <memory>

namespace CLI {
class App;
class Validator;
} // namespace CLI

namespace mpc::rt {
class Program;
struct DeviceOptions;
} // namespace mpc::rt

namespace mpc::tool {

struct TrainingFlags;

/// Holds a context with all dialects, and a handler that prints diagnostics as `error: NODE: text` with notes behind.
class Session {
public:
  explicit Session(bool remarks = true);
  mlir::MLIRContext &context() { return *mlirContext; }

private:
  std::unique_ptr<mlir::MLIRContext> mlirContext;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler;
};

/// Prints an error, a warning or a note to stderr, with colours where the terminal has them.
void say(const llvm::Twine &text);
/// Prints `error: WHERE: what` and `hint: ...` to stderr; returns 1, the exit status of every user's mistake.
int fail(llvm::StringRef where, const llvm::Twine &what, const llvm::Twine &hint);
/// Returns the exit status: 1 with an error if the printed output has not arrived, else `status`.
int finishOutput(int status);

/// Prints an error and returns false when a file that is to be written is also one that is read.
bool outputsAreFree(llvm::ArrayRef<std::string> outputs, const std::vector<std::string> &inputs);

/// Prints the choices that mpc made for options that the user left out, one line each with the option that changes it,
/// and the arrays that the data need.
void printAssumed(llvm::ArrayRef<std::string> found, const TrainingFlags &training, llvm::ArrayRef<std::string> data);

/// Checks options whose value is a number above 0.
CLI::Validator positiveInteger();
/// The batch of training if neither the file nor the user gives one.
inline constexpr int64_t kOpenBatch = 32;
/// The group of options that say how the network's file is read.
inline constexpr char kNetworkGroup[] = "Network";
/// Adds the options of the import that several subcommands take.
void addImportOptions(CLI::App &app, ImportOptions &options, std::vector<std::string> &dims);
/// Adds --mode, which says what happens to batch norms and dropouts in inference form.
void addModeOption(CLI::App &app, std::string &mode);
/// The mode that a value of --mode names; CLI11 has checked it.
TrainingMode modeNamed(llvm::StringRef mode);
/// Parses `name=value` items of --dim into the options; prints an error and returns false on a bad one.
bool parseDims(const std::vector<std::string> &dims, ImportOptions &options);

/// Returns a compiled program that runs in this process. Throws rt::Error.
std::shared_ptr<const rt::Program> programInMemory(CompiledProgram &&program);
/// Adds --threads and --library, for commands that run a program in this process.
void addHostOptions(CLI::App &app, rt::DeviceOptions &options);

// One subcommand per file. Each adds itself to the app and sets `status` when it runs.
void addCompileCommand(CLI::App &app, int &status);
void addCheckCommand(CLI::App &app, int &status);
void addRunCommand(CLI::App &app, int &status);
void addExplainCommand(CLI::App &app, int &status);
void addExportCommand(CLI::App &app, int &status);
void addOpsCommand(CLI::App &app, int &status);
void addVerifyCommand(CLI::App &app, int &status);
/// Adds all of them.
void addCommands(CLI::App &app, int &status);

} // namespace mpc::tool
#endif
