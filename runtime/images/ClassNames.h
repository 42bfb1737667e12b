// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers the classes that a list or an archive names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mpc::images {

/// The most classes that a source may have.
constexpr int64_t kMostClasses = 1000000;

/// Throws Error, located at `where`, for a name that has control characters or is no UTF-8: names go to terminals and
/// into checkpoints.
void checkClassName(const std::string &name, const std::string &where);

/// Returns the numbers of `names` among the lines of `known`, which are the classes of a training in the order of their
/// numbers. Where `names` are the numbers 0, 1, … themselves and the training's are not, they mean the training's.
/// Throws Error, located at `path`, for a name that is not there.
std::vector<int64_t> numbersAmong(const std::vector<std::string> &names, std::string_view known,
                                  const std::string &path);

/// Collects names while samples are read, and numbers them at the end.
class ClassNames {
public:
  /// Returns the name's number in the order in which names were seen.
  int32_t add(std::string_view name);
  size_t size() const { return names_.size(); }
  const std::string &name(int32_t number) const { return names_[size_t(number)]; }

  /// Puts the names in the order of their bytes. Returns each name's index there by its number. Throws Error, located
  /// at `where`, for a name that checkClassName refuses.
  std::vector<int32_t> sorted(const std::string &where, std::vector<std::string> &names) const;
  /// Does the same, except that whole numbers, if all names are such, are the indices themselves: the classes are then
  /// all numbers from 0 to the largest. A number that is negative or too large is an error.
  std::vector<int32_t> numbered(const std::string &where, std::vector<std::string> &names) const;

private:
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<std::string> names_;
};

} // namespace mpc::images
