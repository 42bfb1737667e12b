// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CLI11's headers need these.
#include <fstream>
#include <functional>

#include <CLI/ConfigFwd.hpp>
#include <CLI/FormatterFwd.hpp>

// Nothing calls these functions: no app has a configuration file (App::set_config), and helpText replaces the
// formatter of every app.
namespace CLI {

std::string ConfigBase::to_config(const App *, bool, bool, std::string) const { return {}; }
std::vector<ConfigItem> ConfigBase::from_config(std::istream &) const { return {}; }

std::string Formatter::make_group(std::string, bool, std::vector<const Option *>) const { return {}; }
std::string Formatter::make_positionals(const App *) const { return {}; }
std::string Formatter::make_subcommands(const App *, AppFormatMode) const { return {}; }
std::string Formatter::make_subcommand(const App *) const { return {}; }
std::string Formatter::make_expanded(const App *) const { return {}; }
std::string Formatter::make_footer(const App *) const { return {}; }
std::string Formatter::make_description(const App *) const { return {}; }
std::string Formatter::make_usage(const App *, std::string) const { return {}; }
std::string Formatter::make_help(const App *, std::string, AppFormatMode) const { return {}; }
std::string Formatter::make_option_name(const Option *, bool) const { return {}; }
std::string Formatter::make_option_opts(const Option *) const { return {}; }
std::string Formatter::make_option_desc(const Option *) const { return {}; }
std::string Formatter::make_option_usage(const Option *) const { return {}; }

} // namespace CLI
