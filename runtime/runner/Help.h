// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a command line says about itself, and about a mistake in it. The compiler's command and the compiled programs
// share it.
#pragma once

#include "runtime/runner/CommandLine.h"
#include "runtime/support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc::rt {

/// Gives a command an example, which --help and the pages about the command print: "train --data train.npz".
void setExample(CLI::App &command, const std::string &example);
/// Returns the example of a command without the program's name, or "".
std::string exampleOf(const CLI::App &command);
/// Returns what else there is to say about a command, or "".
std::string remarksOf(const CLI::App &command);

/// Puts the options that are added to a command from now on into a group, under whose name --help lists them.
inline void beginGroup(CLI::App &command, const char *name) { command.option_defaults()->group(name); }

/// Returns the option's names with dashes: "-o, --output".
std::string namesOf(const CLI::Option &option);
/// Returns the kind of the option's value, such as "N" or "{auto,host}"; "" for a flag.
std::string valueOf(const CLI::Option &option);
/// Returns whether the option is a flag, which takes no value.
bool isFlag(const CLI::Option &option);
/// Returns the groups of a command's options in their order; positional ones and --help and --version are in none.
std::vector<std::string> groupsOf(const CLI::App &command);
/// Returns the options of a group.
std::vector<const CLI::Option *> optionsOf(const CLI::App &command, const std::string &group);
/// Returns the options that a command takes without their names, such as the model's file.
std::vector<const CLI::Option *> positionalsOf(const CLI::App &command);

/// Returns the text of --help for CLI11: options in their groups, wrapped to the terminal's width, at most 100 columns.
/// `name`: the program with the command, "./model train".
std::string helpText(const CLI::App *app, std::string name, CLI::AppFormatMode mode);

/// Returns the mistake that kept `app` from taking the words of a command line, with the option or command that may be
/// meant. `program`: how the user calls it.
Error mistakeIn(const CLI::App &app, const CLI::ParseError &error, const std::string &program,
                const std::vector<std::string> &words);

/// Returns the mistake of an option with an empty value, which would else count as one that was not given: the command
/// would write nothing, or start from other numbers, and succeed.
std::optional<Error> emptyValueIn(const CLI::App &command, const std::string &program);

} // namespace mpc::rt
