//===- Shells.h - completion scripts and man pages from the option tables -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_DOCS_SHELLS_H
#define MPC_TOOLS_MPC_DOCS_SHELLS_H
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace mpc::docs {

/// Returns the commands of a program.
std::vector<const CLI::App *> commandsOf(const CLI::App &app);
/// Returns the words that an option's value may be, of "{auto,host}"; none where it may be any word.
std::vector<std::string> choicesOf(const CLI::Option &option);

/// The scripts that complete the words behind `mpc`.
std::string bashCompletion(const CLI::App &compiler);
std::string zshCompletion(const CLI::App &compiler);
std::string fishCompletion(const CLI::App &compiler);

/// Returns the man pages by the names of their files: mpc.1, one for each command of mpc, and mpc-program.1 for the
/// programs that mpc makes.
std::map<std::string, std::string> manPages(const CLI::App &compiler, const CLI::App &program);

} // namespace mpc::docs
#endif
