// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the word that a misspelt one may mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mpc::rt {

/// Returns how many letters have to be added, left out, changed, or swapped with their neighbour to make one word of
/// the other.
size_t editDistance(std::string_view from, std::string_view to);

/// Returns the name that `word` may mean: the one with the least distance, of at most a third of the word's letters,
/// else the first that begins with the word; "" when none is similar. Case does not matter, and '_' counts as '-'.
/// (dialects/Support/Nearest.h does the same for the compiler, which does not include the runtime.)
std::string nearestOf(std::string_view word, const std::vector<std::string> &names);

} // namespace mpc::rt
