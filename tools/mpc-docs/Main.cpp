//===- Main.cpp - prints the CLI reference as Markdown ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runner/Options.h"
#include "tools/mpc/Common.h"
#include <CLI/CLI.hpp>

namespace {

/// Escapes the text of a table cell.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  for (char &c : text)
    c = c == '\n' ? ' ' : c;
  return text;
}

void printOptions(const CLI::App &command) {
  std::vector<std::string> groups;
  for (const CLI::Option *option : command.get_options())
    if (!option->get_group().empty() && std::find(groups.begin(), groups.end(), option->get_group()) == groups.end())
      groups.push_back(option->get_group());
  for (const std::string &group : groups) {
    llvm::outs() << (groups.size() > 1 ? "\n**" + group + "**\n" : "")
                 << "\n| option | values | default | what |\n|---|---|---|---|\n";
    for (const CLI::Option *option : command.get_options()) {
      if (option->get_group() != group || option == command.get_help_ptr())
        continue;
      bool flag = option->get_expected_max() == 0;
      std::string standard = option->get_default_str(), values = flag ? "" : option->get_type_name();
      llvm::outs() << "| `" << option->get_name(/*positional=*/option->get_positional(), /*all_options=*/true) << "`"
                   << (option->get_required() ? " (required)" : "") << " | "
                   << cell(values.empty() ? "" : "`" + values + "`") << " | "
                   << cell(standard.empty() || flag ? "" : "`" + standard + "`") << " | "
                   << cell(option->get_description()) << " |\n";
    }
  }
  llvm::outs() << '\n';
}

void printCommands(const CLI::App &app, const std::string &name) {
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; })) {
    std::string positional;
    for (const CLI::Option *option : command->get_options())
      if (option->get_positional())
        positional += " " + option->get_name(true, false);
    llvm::outs() << "### " << name << ' ' << command->get_name() << "\n\n"
                 << command->get_description() << ".\n\n`" << name << ' ' << command->get_name() << positional
                 << " [OPTIONS]`\n";
    printOptions(*command);
    if (!command->get_footer().empty())
      llvm::outs() << command->get_footer() << "\n\n";
  }
}

} // namespace

int main() {
  CLI::App compiler("", "mpc"), program("", "model");
  int status = 0;
  mpc::tool::addCommands(compiler, status);
  mpc::rt::Options options;
  mpc::rt::addCommands(program, nullptr, options);
  llvm::outs() << "# Command line\n\nPrinted by `mpc-docs` from the option tables of `mpc` and of the programs that it "
                  "makes (`make docs`).\n\n"
                  "Exit status: 0, or 1 after a message `error: WHERE: WHAT` with a `hint:`. A training that SIGHUP, "
                  "SIGINT or SIGTERM ends finishes its step, writes its "
                  "checkpoint and ends with 128 + the signal.\n\n## mpc\n\n";
  printCommands(compiler, "mpc");
  llvm::outs() << "## The compiled program\n\nThe learning rate of its optimizer is an option of `train` and `trace` "
                  "too (`--lr`), with the value given to `mpc compile` as default; the other "
                  "hyperparameters are fixed when the model is compiled. In a program with several optimizers "
                  "`--STEP.lr` sets that of one of them.\n\n";
  printCommands(program, "./model");
  return 0;
}
