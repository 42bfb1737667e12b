// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Numbers.h"
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>

std::string mpc::shortestText(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15)
    return std::to_string(int64_t(value));
  char text[32];
  bool large = std::fabs(value) >= 1e15;
  auto end = large ? std::to_chars(text, std::end(text), value, std::chars_format::scientific).ptr
                   : std::to_chars(text, std::end(text), value).ptr;
  return std::string(text, end);
}
