// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Nearest.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir;

std::string mpc::didYouMean(StringRef word, ArrayRef<StringRef> names) {
  constexpr size_t kLongest = 64; // longer words are no misspelt names, and would take long
  if (word.empty() || word.size() > kLongest)
    return "";
  StringRef nearest;
  unsigned least = unsigned(std::max<size_t>(1, word.size() / 3)) + 1;
  auto take = [&](StringRef name, StringRef from, unsigned before) {
    unsigned distance = before + from.edit_distance_insensitive(name, /*AllowReplacements=*/true, least);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  };
  for (StringRef name : names) {
    take(name, word, 0);
    // Two letters that are swapped count as one mistake.
    for (size_t i = 0; i + 1 < word.size(); ++i) {
      std::string swapped = word.str();
      std::swap(swapped[i], swapped[i + 1]);
      take(name, swapped, 1);
    }
  }
  return nearest.empty() ? "" : ("did you mean '" + nearest + "'? ").str();
}
