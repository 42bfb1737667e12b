//===- Main.cpp - the mpc command ------------------------------------------------------------===//
#include "runtime/support/Standard.h"
#include "tools/mpc/Common.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include <CLI/CLI.hpp>
#include <new>
#include <unistd.h>

/// Nothing between here and an allocation catches: the libraries are built without exceptions. Unfinished outputs go, the process ends.
[[noreturn]] static void endWithoutMemory() {
  static const char text[] = "error: mpc: out of memory\nhint: close other programs, or compile a smaller batch\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
    // nobody is there to be told
  }
  llvm::sys::RunInterruptHandlers();
  _exit(1);
}

int main(int argc, char **argv) {
  std::set_new_handler(endWithoutMemory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endWithoutMemory(); });
  mpc::rt::openStandardDescriptors();
  CLI::App app("mpc: compiles ONNX networks to standalone mixed-precision training programs", "mpc");
  app.require_subcommand(1);
  app.set_version_flag("--version", "mpc 0.1.0");
  int status = 0;
  mpc::tool::addCommands(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // help
      return mpc::tool::finishOutput(app.exit(error));
    std::string what = error.what();
    if (app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-')
      what = "unknown command '" + std::string(argv[1]) + "'";
    llvm::errs() << "error: command line: " << what << "\nhint: run 'mpc --help' or 'mpc COMMAND --help' for the options\n";
    return 1;
  } catch (const std::exception &error) {
    llvm::errs() << "error: mpc: " << error.what() << '\n';
    return 1;
  }
  return mpc::tool::finishOutput(status);
}
