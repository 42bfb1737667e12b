// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/ClassNames.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <numeric>

namespace mpc::images {

using rt::concat;
using rt::fail;

int32_t ClassNames::add(std::string_view name) {
  auto [at, added] = numbers_.try_emplace(std::string(name), int32_t(names_.size()));
  if (added)
    names_.emplace_back(name);
  return at->second;
}

std::vector<int32_t> ClassNames::sorted(std::vector<std::string> &names) const {
  std::vector<int32_t> order(names_.size()), index(names_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return names_[size_t(a)] < names_[size_t(b)]; });
  names.clear();
  for (int32_t number : order) {
    index[size_t(number)] = int32_t(names.size());
    names.push_back(names_[size_t(number)]);
  }
  return index;
}

/// Returns whether the text is a whole number, with a minus sign or without.
static bool isInteger(std::string_view text) {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

std::vector<int32_t> ClassNames::numbered(const std::string &where, std::vector<std::string> &names) const {
  if (!std::all_of(names_.begin(), names_.end(), isInteger))
    return sorted(names);
  std::vector<int32_t> index;
  int64_t most = -1;
  for (const std::string &name : names_) {
    int64_t value = 0;
    for (char digit : name)
      value = std::min(value * 10 + (digit - '0'), kMostClasses);
    if (name.starts_with('-') || value >= kMostClasses)
      fail(where, concat("has the class ", name, "; numbers of classes are 0 to ", kMostClasses - 1),
           "number the classes 0, 1, 2, ..., or write names");
    index.push_back(int32_t(value));
    most = std::max(most, value);
  }
  names.clear();
  for (int64_t i = 0; i <= most; ++i)
    names.push_back(concat(i));
  return index;
}

} // namespace mpc::images
