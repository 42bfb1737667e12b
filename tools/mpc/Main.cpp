//===- Main.cpp - the mpc command ------------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Package/Version.h"
#include "runtime/runner/Help.h"
#include "runtime/support/Standard.h"
#include "tools/mpc/Common.h"
#include "tools/mpc/MlirOptions.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include <CLI/CLI.hpp>
#include <new>
#include <unistd.h>
#include <vector>

/// Ends the process and removes unfinished outputs. No code between here and an allocation catches, because the
/// libraries are built without exceptions.
[[noreturn]] static void endWithoutMemory() {
  static const char text[] = "error: mpc: out of memory\nhint: close other programs, or compile a smaller batch\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) {
    // there is nobody to tell
  }
  llvm::sys::RunInterruptHandlers();
  _exit(1);
}

int main(int argc, char **argv) {
  std::set_new_handler(endWithoutMemory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { endWithoutMemory(); });
  mpc::rt::openStandardDescriptors();
  llvm::errs().tie(&llvm::outs()); // if both go to one file, an error comes after the earlier output
  CLI::App app("mpc: compiles ONNX networks to standalone mixed-precision training programs", "mpc");
  app.formatter_fn(mpc::rt::helpText);
  app.require_subcommand(1);
  app.set_version_flag("--version", mpc::producer());
  int status = 0;
  mpc::tool::addCommands(app, status);
  for (CLI::App *command : app.get_subcommands({}))
    command->parse_complete_callback([command] {
      if (std::optional<mpc::rt::Error> mistake = mpc::rt::emptyValueIn(*command, "mpc"))
        throw *mistake;
    });
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!mpc::tool::takeMlirOptions(words))
    return 1;
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend())); // CLI11 takes the words from the back
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // prints help
      return mpc::tool::finishOutput(app.exit(error));
    mpc::tool::say(mpc::rt::mistakeIn(app, error, "mpc", words).text());
    return 1;
  } catch (const mpc::rt::Error &error) {
    mpc::tool::say(error.text());
    return 1;
  } catch (const std::exception &error) {
    mpc::tool::say(llvm::Twine("error: mpc: ") + error.what() + "\n");
    return 1;
  }
  return mpc::tool::finishOutput(status);
}
