// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the names of classes in the YAML files that describe data of YOLO's format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mpc::images {

/// Returns the value of the key `names` at the top of the file: a sequence (`- cat`, or `[cat, dog]`), or a mapping of
/// 0, 1, … to names (`0: cat`, or `{0: cat}`). Returns an empty list where there is no such key. This is the part of
/// YAML that such files use: names are plain or in quotes, without escapes. Throws Error located at `path`.
std::vector<std::string> yamlNames(const std::string &path, std::string_view text);

} // namespace mpc::images
