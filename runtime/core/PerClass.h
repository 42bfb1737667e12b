// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accuracy, top-k and average precision of each class (`eval --per-class`).
#pragma once

#include "runtime/core/Evaluate.h"

#include <string>
#include <vector>

namespace mpc::rt {

/// Reads the names of the classes, one a line, in the order of their numbers. Throws Error for a file without names.
std::vector<std::string> readClassNames(const std::string &path);

/// Returns a table with a line for each class: its number, its name, how many labels it has, and the share of them that
/// each metric found, or their average precision. `names` may be empty. `path` is the file that they come from, ""
/// where the data or a checkpoint name the classes. Throws Error where no metric of the program counts classes, and
/// where a file does not name as many as there are.
std::string perClassText(const Evaluation &evaluation, const std::vector<std::string> &names, const std::string &path);

/// Returns `, "classes": [{"class": 0, "name": …, "labels": 100, "accuracy": 0.97}, …]`, the end of Evaluation::asJson.
/// The share of no labels is null. Throws Error as perClassText does.
std::string perClassJson(const Evaluation &evaluation, const std::vector<std::string> &names, const std::string &path);

} // namespace mpc::rt
