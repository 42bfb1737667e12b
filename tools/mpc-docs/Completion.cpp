//===- Completion.cpp - prints scripts for bash, zsh and fish ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runner/Help.h"
#include "tools/mpc-docs/Shells.h"
#include <CLI/CLI.hpp>

using namespace mpc;

namespace {

std::string joined(const std::vector<std::string> &words, const char *separator = " ") {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : separator) + word;
  return text;
}

std::vector<std::string> namesOf(const std::vector<const CLI::App *> &commands) {
  std::vector<std::string> names;
  for (const CLI::App *command : commands)
    names.push_back(command->get_name());
  return names;
}

/// Returns all options of a command that are named.
std::vector<const CLI::Option *> namedOptions(const CLI::App &command) {
  return command.get_options([](const CLI::Option *option) { return !option->get_positional(); });
}

/// Returns the names of an option with their dashes.
std::vector<std::string> dashed(const CLI::Option &option) {
  std::vector<std::string> names;
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

/// Returns the beginning of a description, which fits into one line beside an option.
std::string brief(std::string text) {
  constexpr size_t kMost = 60;
  text = text.substr(0, text.find_first_of(";\n"));
  if (text.size() <= kMost)
    return text;
  text.resize(std::min(text.rfind(' ', kMost), kMost)); // a long word is cut
  return text + " ...";
}

/// Puts a backslash before each of some characters.
std::string escaped(const std::string &text, const char *special) {
  std::string result;
  for (char c : text) {
    if (std::string_view(special).find(c) != std::string_view::npos)
      result += '\\';
    result += c;
  }
  return result;
}

/// Returns a word in single quotes, for zsh.
std::string quoted(const std::string &text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

} // namespace

std::vector<const CLI::App *> docs::commandsOf(const CLI::App &app) {
  return app.get_subcommands([](const CLI::App *) { return true; });
}

std::vector<std::string> docs::choicesOf(const CLI::Option &option) {
  std::string values = option.get_type_name();
  size_t begin = values.find('{'), end = values.find('}');
  std::vector<std::string> choices;
  if (begin == values.npos || end == values.npos)
    return choices;
  values = values.substr(begin + 1, end - begin - 1);
  for (size_t at = 0; at <= values.size();) {
    size_t comma = std::min(values.find(',', at), values.size());
    choices.push_back(values.substr(at, comma - at));
    at = comma + 1;
  }
  return choices;
}

std::string docs::bashCompletion(const CLI::App &compiler) {
  std::string values, files, options;
  for (const CLI::App *command : commandsOf(compiler)) {
    std::vector<std::string> all, withFiles;
    for (const CLI::Option *option : namedOptions(*command)) {
      std::vector<std::string> names = dashed(*option), choices = choicesOf(*option);
      all.insert(all.end(), names.begin(), names.end());
      if (rt::isFlag(*option))
        continue;
      for (std::string &name : names)
        name = command->get_name() + "," + name;
      if (choices.empty())
        withFiles.insert(withFiles.end(), names.begin(), names.end());
      else
        values += "  " + joined(names, " | ") + ") words=" + quoted(joined(choices)) + " ;;\n";
    }
    if (!withFiles.empty())
      files += "  " + joined(withFiles, " | ") + ") return ;;\n";
    options += "    " + command->get_name() + ") words=" + quoted(joined(all)) + " ;;\n";
  }
  return "# Completes the words behind `mpc` in bash; printed by mpc-docs from the option tables.\n"
         "_mpc() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W " +
         quoted(joined(namesOf(commandsOf(compiler))) + " --help --version") +
         " -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  # Readline takes --emit=lib for three words.\n"
         "  if [[ $word == = ]]; then\n"
         "    word=\n"
         "  elif [[ $previous == = ]]; then\n"
         "    previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]},$previous in\n" +
         values + "  # Where nothing is found, readline completes names of files.\n" + files +
         "  *)\n"
         "    [[ $word == -* ]] || return\n"
         "    case ${COMP_WORDS[1]} in\n" +
         options +
         "    esac ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o bashdefault -o default -F _mpc mpc\n";
}

std::string docs::zshCompletion(const CLI::App &compiler) {
  std::string commands, cases;
  for (const CLI::App *command : commandsOf(compiler)) {
    commands += "    " + quoted(escaped(command->get_name(), ":") + ":" + brief(command->get_description())) + "\n";
    cases += "  " + command->get_name() + ")\n    _arguments";
    for (const CLI::Option *option : namedOptions(*command)) {
      std::string text = "[" + escaped(brief(option->get_description()), "\\[]:") + "]";
      if (!rt::isFlag(*option)) {
        std::vector<std::string> choices = choicesOf(*option);
        text += ":value:" + (choices.empty() ? "_files" : "(" + joined(choices) + ")");
      }
      for (const std::string &name : dashed(*option))
        cases += " \\\n      " + quoted("*" + name +
                                        (rt::isFlag(*option)      ? ""
                                         : name.starts_with("--") ? "="
                                                                  : "+") +
                                        text);
    }
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return "#compdef mpc\n"
         "# Completes the words behind `mpc` in zsh; printed by mpc-docs from the option tables.\n"
         "_mpc() {\n"
         "  local -a commands=(\n" +
         commands +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_mpc \"$@\"\n";
}

std::string docs::fishCompletion(const CLI::App &compiler) {
  // Within single quotes fish knows \\ and \'.
  auto text = [](const std::string &words) { return "'" + escaped(words, "\\'") + "'"; };
  std::string script = "# Completes the words behind `mpc` in fish; printed by mpc-docs from the option tables.\n";
  for (const CLI::App *command : commandsOf(compiler))
    script += "complete -c mpc -f -n __fish_use_subcommand -a " + command->get_name() + " -d " +
              text(brief(command->get_description())) + "\n";
  for (const CLI::App *command : commandsOf(compiler))
    for (const CLI::Option *option : namedOptions(*command)) {
      script += "complete -c mpc -n '__fish_seen_subcommand_from " + command->get_name() + "'";
      for (const std::string &name : option->get_snames())
        script += " -s " + name;
      for (const std::string &name : option->get_lnames())
        script += " -l " + name;
      if (std::vector<std::string> choices = choicesOf(*option); !choices.empty() && !rt::isFlag(*option))
        script += " -x -a " + text(joined(choices));
      else if (!rt::isFlag(*option))
        script += " -r";
      script += " -d " + text(brief(option->get_description())) + "\n";
    }
  return script;
}
