//===- Main.cpp - prints the CLI reference as Markdown, completion scripts and man pages ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runner/Help.h"
#include "runtime/runner/Options.h"
#include "runtime/support/AtomicFile.h"
#include "tools/mpc-docs/Shells.h"
#include "tools/mpc/Common.h"
#include <CLI/CLI.hpp>
#include <filesystem>

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
  auto table = [](const std::string &title, const std::vector<const CLI::Option *> &options) {
    if (options.empty())
      return;
    llvm::outs() << (title.empty() ? "" : "\n**" + title + "**\n")
                 << "\n| option | values | default | what |\n|---|---|---|---|\n";
    for (const CLI::Option *option : options) {
      bool flag = mpc::rt::isFlag(*option);
      std::string standard = option->get_default_str(), values = flag ? "" : option->get_type_name();
      llvm::outs() << "| `" << option->get_name(/*positional=*/option->get_positional(), /*all_options=*/true) << "`"
                   << (option->get_required() ? " (required)" : "") << " | "
                   << cell(values.empty() ? "" : "`" + values + "`") << " | "
                   << cell(standard.empty() || flag ? "" : "`" + standard + "`") << " | "
                   << cell(option->get_description()) << " |\n";
    }
  };
  table("", mpc::rt::positionalsOf(command));
  std::vector<std::string> groups = mpc::rt::groupsOf(command);
  for (const std::string &group : groups)
    table(groups.size() > 1 ? group : "", mpc::rt::optionsOf(command, group));
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
    if (std::string example = mpc::rt::exampleOf(*command); !example.empty())
      llvm::outs() << "Example: `" << name << ' ' << example << "`\n\n";
    if (std::string remarks = mpc::rt::remarksOf(*command); !remarks.empty())
      llvm::outs() << remarks << "\n\n";
  }
}

/// Writes the completion scripts and man pages below a folder, where `cmake --install` takes them for share/.
int writeShare(const CLI::App &compiler, const CLI::App &program, const std::string &folder) {
  std::map<std::string, std::string> files = {
      {"bash-completion/completions/mpc", mpc::docs::bashCompletion(compiler)},
      {"zsh/site-functions/_mpc", mpc::docs::zshCompletion(compiler)},
      {"fish/vendor_completions.d/mpc.fish", mpc::docs::fishCompletion(compiler)}};
  for (auto &[name, text] : mpc::docs::manPages(compiler, program))
    files["man/man1/" + name] = std::move(text);
  std::optional<mpc::rt::Error> error = mpc::rt::attempt([&] {
    for (const auto &[name, text] : files) {
      std::filesystem::path path = folder + "/" + name;
      std::filesystem::create_directories(path.parent_path());
      mpc::rt::AtomicFile file(path);
      file.write(text);
      file.commit();
    }
  });
  if (error)
    mpc::tool::say(error->text());
  return error ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App compiler("", "mpc"), program("", "model");
  int status = 0;
  mpc::tool::addCommands(compiler, status);
  mpc::rt::Options options;
  mpc::rt::addCommands(program, nullptr, options);
  if (argc == 3 && std::string(argv[1]) == "--share")
    return writeShare(compiler, program, argv[2]);
  if (argc != 1)
    return mpc::tool::fail("command line", "takes no other words than '--share FOLDER'",
                           "leave them out to print docs/cli.md");
  llvm::outs() << "# Command line\n\nPrinted by `mpc-docs` from the option tables of `mpc` and of the programs that it "
                  "makes (`make docs`).\n\n"
                  "Exit status: 0, or 1 after a message `error: WHERE: WHAT` with a `hint:`. A training that SIGHUP, "
                  "SIGINT or SIGTERM ends finishes its step, writes its "
                  "checkpoint and ends with 128 + the signal. It gives up an evaluation, which `--resume` makes "
                  "first. A second signal, two seconds later, ends it at once.\n\n## mpc\n\n";
  printCommands(compiler, "mpc");
  llvm::outs() << "## The compiled program\n\nThe learning rate of its optimizer is an option of `train` and `trace` "
                  "too (`--lr`), with the value given to `mpc compile` as default; the other "
                  "hyperparameters are fixed when the model is compiled. In a program with several optimizers "
                  "`--STEP.lr` sets that of one of them.\n\n";
  printCommands(program, "./model");
  return 0;
}
