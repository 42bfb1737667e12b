// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runner/Help.h"

#include "runtime/support/Nearest.h"
#include "runtime/support/Terminal.h"

#include <algorithm>
#include <cctype>

namespace mpc::rt {

static constexpr std::string_view kExample = "example: ";

void setExample(CLI::App &command, const std::string &example) {
  std::string remarks = remarksOf(command);
  command.footer(concat(kExample, example, remarks.empty() ? "" : "\n", remarks));
}

std::string exampleOf(const CLI::App &command) {
  std::string footer = command.get_footer();
  return footer.starts_with(kExample) ? footer.substr(kExample.size(), footer.find('\n') - kExample.size()) : "";
}

std::string remarksOf(const CLI::App &command) {
  std::string footer = command.get_footer();
  if (!footer.starts_with(kExample))
    return footer;
  size_t end = footer.find('\n');
  return end == footer.npos ? "" : footer.substr(end + 1);
}

bool isFlag(const CLI::Option &option) { return option.get_expected_max() == 0; }

std::string namesOf(const CLI::Option &option) {
  if (option.get_positional())
    return option.get_name(/*positional=*/true, /*all_options=*/false);
  std::string names;
  for (const std::string &name : option.get_snames())
    names += concat(names.empty() ? "-" : ", -", name);
  for (const std::string &name : option.get_lnames())
    names += concat(names.empty() ? "--" : ", --", name);
  return names;
}

std::string valueOf(const CLI::Option &option) {
  if (isFlag(option))
    return "";
  std::string type = option.get_type_name(), value = type.substr(0, type.find(':'));
  if (size_t brace = type.find('{'); brace != type.npos)
    value = type.substr(brace); // the words to choose from
  else if (value == "INT" || value == "UINT")
    value = "N";
  else if (value == "FLOAT")
    value = "NUMBER";
  return value + (option.get_expected_max() > 1 && option.get_allow_extra_args() ? " ..." : "");
}

/// Returns whether an option explains the program: --help and --version, which every command line has.
static bool explains(const CLI::App &command, const CLI::Option *option) {
  return option == command.get_help_ptr() || option == command.get_version_ptr();
}

std::vector<const CLI::Option *> positionalsOf(const CLI::App &command) {
  return command.get_options([](const CLI::Option *option) { return option->get_positional(); });
}

std::vector<const CLI::Option *> optionsOf(const CLI::App &command, const std::string &group) {
  return command.get_options([&](const CLI::Option *option) {
    return !option->get_positional() && !explains(command, option) && option->get_group() == group;
  });
}

std::vector<std::string> groupsOf(const CLI::App &command) {
  std::vector<std::string> groups;
  for (const CLI::Option *option : command.get_options())
    if (!option->get_group().empty() && !option->get_positional() && !explains(command, option) &&
        std::find(groups.begin(), groups.end(), option->get_group()) == groups.end())
      groups.push_back(option->get_group());
  return groups;
}

/// Returns the commands of an app, parsed or not.
static std::vector<const CLI::App *> commandsOf(const CLI::App &app) {
  return app.get_subcommands([](const CLI::App *) { return true; });
}

/// Returns one entry of a list: what is explained on the left, the text on the right, or below where there is no room.
static std::string entry(const std::string &left, const std::string &text, int width) {
  constexpr int kColumn = 28;
  std::string line = "  " + left;
  if (text.empty())
    return line + "\n";
  line += int(line.size()) + 2 > kColumn ? "\n" + std::string(kColumn, ' ')
                                         : std::string(size_t(kColumn) - line.size(), ' ');
  return line + wrapped(text, width, kColumn) + "\n";
}

static std::string optionEntry(const CLI::Option &option, int width) {
  std::string left = namesOf(option), value = option.get_positional() ? "" : valueOf(option);
  std::string text = option.get_description(), standard = option.get_default_str();
  if (option.get_required() && !option.get_positional())
    text = "(required) " + text;
  if (!standard.empty() && !isFlag(option))
    text += concat(" (default: ", standard, ")");
  return entry(value.empty() ? left : left + " " + value, text, width);
}

std::string helpText(const CLI::App *app, std::string name, CLI::AppFormatMode) {
  const int width = std::min(columnsOf(1), 100);
  std::vector<const CLI::App *> commands = commandsOf(*app);
  std::string description = app->get_description(), usage = name;
  if (!description.empty())
    description[0] = char(std::toupper(static_cast<unsigned char>(description[0])));
  if (!description.ends_with("."))
    description += '.';
  std::string text = wrapped(description, width, 0) + "\n\n";
  for (const CLI::Option *option : positionalsOf(*app))
    usage += concat(" ", namesOf(*option));
  for (const CLI::Option *option : app->get_options([](const CLI::Option *o) { return o->get_required(); }))
    if (!option->get_positional())
      usage += concat(" --", option->get_lnames().front(), " ", valueOf(*option));
  text += wrapped(concat("usage: ", usage, commands.empty() ? " [OPTIONS]" : " COMMAND [OPTIONS]"), width, 4) + "\n";
  if (std::string example = exampleOf(*app); !example.empty()) {
    std::string program = app->get_parent() ? name.substr(0, name.rfind(' ')) : name;
    text += wrapped(concat(kExample, program, " ", example), width, 4) + "\n";
  }
  if (!commands.empty())
    text += "\nCommands:\n";
  for (const CLI::App *command : commands)
    text += entry(command->get_name(), command->get_description(), width);
  if (!positionalsOf(*app).empty())
    text += "\nArguments:\n";
  for (const CLI::Option *option : positionalsOf(*app))
    text += optionEntry(*option, width);
  for (const std::string &group : groupsOf(*app)) {
    text += concat("\n", group, ":\n");
    for (const CLI::Option *option : optionsOf(*app, group))
      text += optionEntry(*option, width);
  }
  text += "\nHelp:\n";
  for (const CLI::Option *option : {app->get_help_ptr(), app->get_version_ptr()})
    if (option)
      text += optionEntry(*option, width);
  if (!commands.empty())
    text += "\n" + wrapped(concat("'", name, " COMMAND --help' prints the options of a command."), width, 0) + "\n";
  if (std::string remarks = remarksOf(*app); !remarks.empty())
    text += "\n" + wrapped(remarks, width, 0) + "\n";
  return text;
}

/// Returns "did you mean NAME? ", or "" where no name is similar.
static std::string didYouMean(std::string_view word, const std::vector<std::string> &names, const char *dashes) {
  std::string nearest = nearestOf(word, names);
  return nearest.empty() ? "" : concat("did you mean ", dashes, nearest, "? ");
}

/// Users look for these options of `mpc compile` in the program, where they are fixed already.
static constexpr std::string_view kOptionsOfCompile[] = {
    "accumulate", "batch",    "clip-norm", "ema",       "grad-norm",   "loss",      "loss-scale",
    "metric",     "momentum", "opt-level", "optimizer", "param-group", "precision", "weight-decay"};

/// Options by the names that other programs give them.
static constexpr std::pair<std::string_view, const char *> kSynonyms[] = {
    {"batch-size", "batch"}, {"learning-rate", "lr"}, {"num-workers", "readers"}, {"workers", "readers"}};

Error mistakeIn(const CLI::App &app, const CLI::ParseError &error, const std::string &program,
                const std::vector<std::string> &words) {
  std::string what = error.what();
  const std::vector<CLI::App *> parsed = app.get_subcommands();
  if (parsed.empty()) {
    std::vector<std::string> names;
    std::string list;
    for (const CLI::App *command : commandsOf(app)) {
      names.push_back(command->get_name());
      list += concat(list.empty() ? "" : ", ", command->get_name());
    }
    std::string hint = concat("write one of ", list, "; '", program, " COMMAND --help' prints the options");
    if (words.empty())
      return Error("command line", what, hint);
    if (words[0][0] == '-')
      return Error("command line", concat("'", words[0], "' is no option of '", program, "'"),
                   concat("options come behind the command: ", hint));
    return Error("command line", concat("unknown command '", words[0], "'"), didYouMean(words[0], names, "") + hint);
  }
  const CLI::App &command = *parsed.front();
  std::string hint = concat("run '", program, " ", command.get_name(), " --help' for the options");
  for (const std::string &word : command.remaining(/*recurse=*/true)) {
    if (word.size() < 2 || word[0] != '-')
      continue;
    std::vector<std::string> names;
    for (const CLI::Option *option : command.get_options())
      for (const std::string &name : option->get_lnames())
        names.push_back(name);
    std::string_view plain = word;
    plain.remove_prefix(std::min(plain.size(), plain.find_first_not_of('-')));
    plain = plain.substr(0, plain.find('='));
    for (auto [synonym, name] : kSynonyms)
      if (plain == synonym && std::find(names.begin(), names.end(), name) != names.end())
        return Error("command line", concat("unknown option '", word, "'"), concat("write --", name, "; ", hint));
      else if (plain == synonym)
        plain = name;
    if (std::find(std::begin(kOptionsOfCompile), std::end(kOptionsOfCompile), plain) != std::end(kOptionsOfCompile))
      return Error("command line", concat("'", word, "' is no option of '", command.get_name(), "'"),
                   concat("give --", plain, " to 'mpc compile', which fixes it; ", hint));
    return Error("command line", concat("unknown option '", word, "'"), didYouMean(plain, names, "--") + hint);
  }
  return Error("command line", what, hint);
}

std::optional<Error> emptyValueIn(const CLI::App &command, const std::string &program) {
  for (const CLI::Option *option : command.get_options())
    if (option->get_expected_min() > 0 && std::ranges::count(option->results(), "") > 0)
      return Error("command line", option->get_name() + ": is empty",
                   concat("give it a value", option->get_required() ? "" : ", or leave it out", "; run '", program, " ",
                          command.get_name(), " --help' for the options"));
  return std::nullopt;
}

} // namespace mpc::rt
