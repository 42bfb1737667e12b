// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/YamlNames.h"

#include "runtime/support/Error.h"
#include "runtime/support/Split.h"

#include <charconv>

namespace mpc::images {

using rt::concat;
using rt::fail;

namespace {
std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Returns where the text ends that is no comment: at " #" outside of quotes.
size_t commentAt(std::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote != 0)
      quote = line[i] == quote ? 0 : quote;
    else if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t'))
      return i;
    else if ((line[i] == '"' || line[i] == '\'') &&
             (i == 0 || std::string_view(" \t[{,:").find(line[i - 1]) != std::string_view::npos))
      quote = line[i];
  }
  return line.size();
}

class Names {
public:
  explicit Names(const std::string &path) : path_(path) {}

  /// Takes "cat", or "0: cat" where `mapping` is true.
  void add(std::string_view item, bool mapping) {
    item = trimmed(item);
    if (mapping) {
      const size_t colon = item.find(':');
      size_t number = 0;
      auto [end, error] = std::from_chars(item.data(), item.data() + std::min(colon, item.size()), number);
      if (colon == item.npos || error != std::errc() || end != item.data() + colon || number != names_.size())
        refuse(item);
      item = trimmed(item.substr(colon + 1));
    }
    if (item.size() >= 2 && (item[0] == '"' || item[0] == '\'') && item.back() == item[0])
      item = item.substr(1, item.size() - 2);
    if (item.empty())
      refuse(item);
    names_.emplace_back(item);
  }
  /// Takes what is between brackets.
  void addAll(std::string_view items, bool mapping) {
    char quote = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= items.size(); ++i) {
      if (i < items.size() && quote != 0) {
        quote = items[i] == quote ? 0 : quote;
      } else if (i == items.size() || items[i] == ',') {
        const std::string_view item = items.substr(begin, i - begin);
        if (i < items.size() || !trimmed(item).empty()) // the last comma may be followed by nothing
          add(item, mapping);
        begin = i + 1;
      } else if ((items[i] == '"' || items[i] == '\'') &&
                 items.substr(begin, i - begin).find_first_not_of(" 0123456789:") == std::string_view::npos) {
        quote = items[i]; // elsewhere it is a part of the name
      }
    }
  }
  [[noreturn]] void refuse(std::string_view item) const {
    fail(path_, concat("has '", item, "' where names has the name of class ", names_.size()),
         "write 'names:' and below it a line '  0: NAME' for each class, in the order of the numbers");
  }
  std::vector<std::string> take() { return std::move(names_); }

private:
  const std::string &path_;
  std::vector<std::string> names_;
};
} // namespace

std::vector<std::string> yamlNames(const std::string &path, std::string_view text) {
  constexpr std::string_view kKey = "names:";
  Names names(path);
  std::string value; // what is in brackets, without comments
  bool found = false;
  for (std::string_view line : rt::split(text, '\n')) {
    line = line.substr(0, commentAt(line));
    if (trimmed(line).empty())
      continue;
    if (!found) {
      found = line.starts_with(kKey);
      value = found ? trimmed(line.substr(kKey.size())) : "";
      continue;
    }
    if (!value.empty() && !value.ends_with(value[0] == '[' ? ']' : '}')) {
      value += concat(" ", trimmed(line));
      continue;
    }
    const std::string_view item = trimmed(line);
    if (!value.empty() || (line[0] != ' ' && line[0] != '\t' && !line.starts_with("- ")))
      break; // the next key
    item.starts_with("- ") ? names.add(item.substr(2), false) : names.add(item, true);
  }
  if (value.empty())
    return names.take();
  const bool mapping = value[0] == '{';
  if ((value[0] != '[' && !mapping) || value.size() < 2 || value.back() != (mapping ? '}' : ']'))
    names.refuse(value);
  names.addAll(std::string_view(value).substr(1, value.size() - 2), mapping);
  return names.take();
}

} // namespace mpc::images
