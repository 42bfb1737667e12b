// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/Nearest.h"

#include <algorithm>
#include <cctype>

namespace mpc::rt {

size_t editDistance(std::string_view from, std::string_view to) {
  // Row i holds the distances of the first i letters of `from` to all beginnings of `to`; the last three are kept.
  std::vector<size_t> older(to.size() + 1), old(to.size() + 1), row(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    older.swap(old);
    old.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({old[j] + 1, row[j - 1] + 1, old[j - 1] + (from[i - 1] != to[j - 1])});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], older[j - 2] + 1);
    }
  }
  return row[to.size()];
}

static std::string plain(std::string_view word) {
  std::string result(word);
  for (char &c : result)
    c = c == '_' ? '-' : char(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string nearestOf(std::string_view word, const std::vector<std::string> &names) {
  constexpr size_t kLongest = 64; // longer words are no misspelt names, and would take long
  if (word.empty() || word.size() > kLongest)
    return "";
  std::string wanted = plain(word), nearest;
  size_t least = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string &name : names)
    if (size_t distance = editDistance(wanted, plain(name)); distance < least) {
      least = distance;
      nearest = name;
    }
  if (nearest.empty() && wanted.size() >= 3)
    for (const std::string &name : names)
      if (nearest.empty() && plain(name).starts_with(wanted))
        nearest = name;
  return nearest;
}

} // namespace mpc::rt
