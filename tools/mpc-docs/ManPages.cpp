//===- ManPages.cpp - prints man pages ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runner/Help.h"
#include "tools/mpc-docs/Shells.h"
#include <CLI/CLI.hpp>

using namespace mpc;

namespace {

/// Returns text as roff reads it: a dash stays a dash, and no line begins a request.
std::string roff(const std::string &text) {
  std::string result;
  for (char c : text) {
    if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
      result += "\\&";
    result += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
  }
  return result;
}

std::string upper(std::string text) {
  for (char &c : text)
    c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string title(const std::string &name, const std::string &what) {
  return ".\\\" Printed by mpc-docs from the option tables.\n.TH " + upper(name) +
         " 1 \"\" mpc \"mpc\"\n.ad l\n.SH NAME\n" + roff(name) + " \\- " + roff(what) + "\n";
}

std::string optionEntry(const CLI::Option &option) {
  std::string value = option.get_positional() ? "" : rt::valueOf(option), text = option.get_description(),
              standard = option.get_default_str();
  if (option.get_required() && !option.get_positional())
    text = "(required) " + text;
  if (!standard.empty() && !rt::isFlag(option))
    text += " (default: " + standard + ")";
  return ".TP\n\\fB" + roff(rt::namesOf(option)) + "\\fR" + (value.empty() ? "" : " \\fI" + roff(value) + "\\fR") +
         "\n" + roff(text) + "\n";
}

/// Returns synopsis, options, example and remarks of a command. `program`: what is typed before it. `heading`: the
/// request that begins a part.
std::string describe(const CLI::App &command, const std::string &program, const std::string &heading) {
  std::string page = heading + " SYNOPSIS\n.B " + roff(program + " " + command.get_name()) + "\n";
  for (const CLI::Option *option : rt::positionalsOf(command))
    page += ".I " + roff(rt::namesOf(*option)) + "\n";
  page += "[\\fIOPTIONS\\fR]\n";
  for (const CLI::Option *option : rt::positionalsOf(command))
    page += optionEntry(*option);
  for (const std::string &group : rt::groupsOf(command)) {
    page += heading + " \"" + upper(group) + "\"\n";
    for (const CLI::Option *option : rt::optionsOf(command, group))
      page += optionEntry(*option);
  }
  if (std::string example = rt::exampleOf(command); !example.empty())
    page += heading + " EXAMPLE\n.B " + roff(program + " " + example) + "\n";
  if (std::string remarks = rt::remarksOf(command); !remarks.empty())
    page += heading + " NOTES\n" + roff(remarks) + "\n";
  return page;
}

/// Returns a description with a small first letter, as a NAME section has it.
std::string lower(std::string text) {
  if (!text.empty())
    text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

constexpr char kStatus[] = ".SH \"EXIT STATUS\"\n0, or 1 after a message \"error: WHERE: WHAT\" with a \"hint:\".\n";

} // namespace

std::map<std::string, std::string> docs::manPages(const CLI::App &compiler, const CLI::App &program) {
  std::map<std::string, std::string> pages;
  std::string main = title("mpc", "compiles ONNX networks to standalone mixed-precision training programs") +
                     ".SH SYNOPSIS\n.B mpc\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH COMMANDS\n",
              also = ".SH \"SEE ALSO\"\n";
  for (const CLI::App *command : commandsOf(compiler)) {
    std::string name = "mpc-" + command->get_name();
    main += ".TP\n.B " + roff(name) + "(1)\n" + roff(command->get_description()) + ".\n";
    also += ".BR " + roff(name) + " (1),\n";
    pages[name + ".1"] = title(name, lower(command->get_description())) + describe(*command, "mpc", ".SH") + kStatus +
                         ".SH \"SEE ALSO\"\n.BR mpc (1), mpc\\-program (1)\n";
  }
  pages["mpc.1"] = main + kStatus + also + ".BR mpc\\-program (1)\n";
  std::string compiled = title("mpc-program", "a training program made by mpc") +
                         ".SH DESCRIPTION\n.B mpc compile MODEL.onnx\nmakes a program of the model's name, here "
                         "\"model\". The optimizer's "
                         "learning rate is an option of \"train\" and \"trace\" too (\\-\\-lr). A training that "
                         "SIGHUP, SIGINT or SIGTERM ends "
                         "finishes its step, writes its checkpoint and ends with 128 + the signal. "
                         "It gives up an evaluation, which \\-\\-resume makes first. A second signal, two seconds "
                         "later, ends it at once.\n";
  for (const CLI::App *command : commandsOf(program))
    compiled += ".SH \"" + upper(command->get_name()) + "\"\n" + roff(command->get_description()) + ".\n" +
                describe(*command, "./model", ".SS");
  pages["mpc-program.1"] = compiled + kStatus + ".SH \"SEE ALSO\"\n.BR mpc (1)\n";
  return pages;
}
