// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Splits texts of options and of metadata.
#pragma once

#include <string_view>
#include <vector>

namespace mpc::rt {

/// Returns the parts between the separators; a text without one is one part.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos)
      return parts;
    text.remove_prefix(at + 1);
  }
}

} // namespace mpc::rt
