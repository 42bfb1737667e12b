// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/Terminal.h"

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace mpc::rt {

/// Returns the value of an environment variable; "" where it is not set.
static std::string_view environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

bool redraws(int descriptor) { return isatty(descriptor) != 0 && environment("TERM") != "dumb"; }

bool hasColours(int descriptor) {
  return redraws(descriptor) && !environment("TERM").empty() && environment("NO_COLOR").empty();
}

int columnsOf(int descriptor) {
  winsize window = {};
  int columns = ioctl(descriptor, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
  if (columns == 0)
    columns = std::atoi(environment("COLUMNS").data());
  return columns >= 20 && columns <= 10000 ? columns : 80;
}

std::string painted(std::string_view text, Colour colour, int descriptor) {
  if (!hasColours(descriptor))
    return std::string(text);
  return "\x1b[" + std::to_string(int(colour)) + "m" + std::string(text) + "\x1b[0m";
}

std::string withPaintedLabels(std::string_view text, int descriptor) {
  if (!hasColours(descriptor))
    return std::string(text);
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    for (auto [label, colour] : {std::pair<std::string_view, Colour>("error:", Colour::Red),
                                 {"warning:", Colour::Yellow},
                                 {"note:", Colour::Cyan},
                                 {"hint:", Colour::Green}})
      if (line.starts_with(label)) {
        result += painted(label, colour, descriptor);
        line.remove_prefix(label.size());
        break;
      }
    result.append(line);
    if (line.data() + line.size() < text.data() + text.size())
      result += '\n';
  }
  return result;
}

std::string wrapped(std::string_view text, int width, int indent) {
  std::string result;
  int column = indent;
  for (bool first = true; !text.empty();) {
    size_t begin = std::min(text.size(), text.find_first_not_of(' '));
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find(' '));
    // A word that fits into no line is cut behind a comma or the like, if it has one.
    if (const size_t room = size_t(std::max(width - indent, 8)); word.size() > room)
      if (size_t cut = word.substr(0, room).find_last_of(",|:/]"); cut != word.npos)
        word = word.substr(0, cut + 1);
    text.remove_prefix(word.size());
    if (word.empty())
      break;
    if (!first && column + 1 + int(word.size()) > width) {
      result += '\n' + std::string(size_t(indent), ' ');
      column = indent;
    } else if (!first) {
      result += ' ';
      ++column;
    }
    result.append(word);
    column += int(word.size());
    first = false;
  }
  return result;
}

} // namespace mpc::rt
