// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/ClassNames.h"

#include "runtime/support/Error.h"
#include "runtime/support/Split.h"

#include <algorithm>
#include <numeric>

namespace mpc::images {

using rt::concat;
using rt::fail;

/// Returns the length of the character of UTF-8 that begins at `at`, or 0 if there is none (RFC 3629, section 4).
static size_t characterAt(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return at + i < text.size() ? uint8_t(text[at + i]) : 0; };
  auto follows = [&](size_t i, int low = 0x80, int high = 0xbf) { return byte(i) >= low && byte(i) <= high; };
  int first = byte(0);
  if (first < 0x80)
    return 1;
  if (first >= 0xc2 && first <= 0xdf)
    return follows(1) ? 2 : 0;
  if ((first & 0xf0) == 0xe0) // not a longer form of a shorter character, and no half of a pair
    return follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2) ? 3 : 0;
  if (first >= 0xf0 && first <= 0xf4)
    return follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

void checkClassName(const std::string &name, const std::string &where) {
  for (size_t at = 0, length; at < name.size(); at += length) {
    length = characterAt(name, at);
    if (length == 0 || uint8_t(name[at]) < ' ' || name[at] == '\x7f')
      fail(where, concat("has the class '", name, "', which is no UTF-8 or has control characters"),
           "rename the class");
  }
}

/// Returns "cat, dog, … (12 in all)".
static std::string listOf(const std::vector<std::string_view> &names) {
  constexpr size_t kShown = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += concat(i == 0 ? "" : ", ", names[i]);
  return names.size() > kShown ? concat(text, ", … (", names.size(), " in all)") : text;
}

std::vector<int64_t> numbersAmong(const std::vector<std::string> &names, std::string_view known,
                                  const std::string &path) {
  std::vector<std::string_view> trained = rt::split(known, '\n');
  trained.pop_back(); // what follows the last line
  std::unordered_map<std::string_view, int64_t> numberOf;
  for (size_t i = 0; i < trained.size(); ++i)
    numberOf.try_emplace(trained[i], int64_t(i));
  bool counted = !names.empty(); // whether the classes have no names but their numbers
  for (size_t i = 0; i < names.size(); ++i)
    counted &= names[i] == concat(i);
  counted = counted && numberOf.count(names[0]) == 0;
  if (counted && trained.size() < names.size())
    fail(path,
         concat("has a class of the number ", names.size() - 1, "; the training had ", trained.size(),
                " classes: ", listOf(trained)),
         "number the classes from 0, in the order of the training's");
  std::vector<int64_t> numbers;
  for (const std::string &name : names) {
    auto at = numberOf.find(name);
    if (counted)
      numbers.push_back(int64_t(numbers.size()));
    else if (at != numberOf.end())
      numbers.push_back(at->second);
    else
      fail(path, concat("has the class '", name, "', which the training did not have; it had ", listOf(trained)),
           "give the classes the names that the training's had, or leave that class out");
  }
  return numbers;
}

int32_t ClassNames::add(std::string_view name) {
  auto [at, added] = numbers_.try_emplace(std::string(name), int32_t(names_.size()));
  if (added)
    names_.emplace_back(name);
  return at->second;
}

std::vector<int32_t> ClassNames::sorted(const std::string &where, std::vector<std::string> &names) const {
  std::vector<int32_t> order(names_.size()), index(names_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return names_[size_t(a)] < names_[size_t(b)]; });
  names.clear();
  for (int32_t number : order) {
    index[size_t(number)] = int32_t(names.size());
    checkClassName(names_[size_t(number)], where);
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
    return sorted(where, names);
  std::vector<int32_t> index;
  int64_t most = -1;
  for (const std::string &name : names_) {
    int64_t value = 0;
    bool negative = name.starts_with('-');
    for (char digit : std::string_view(name).substr(negative ? 1 : 0))
      value = std::min(value * 10 + (digit - '0'), kMostClasses);
    if (negative || value >= kMostClasses)
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
