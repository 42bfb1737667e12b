// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of option values for CLI11. They say what a value must be; CLI11's own checks print the limits of
// double, and are large.
#pragma once

#include "runtime/runner/CommandLine.h"

#include <cfloat>
#include <charconv>
#include <cstdint>
#include <string>

namespace mpc::rt {

/// Accepts a whole number from `low` to `high`, described as `what`: "must be a positive whole number, not 'x'".
inline CLI::Validator wholeNumber(int64_t low, int64_t high, std::string what) {
  return CLI::Validator(
      [=](std::string &text) {
        int64_t value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool good = error == std::errc() && end == text.data() + text.size() && value >= low && value <= high;
        return good ? std::string() : "must be " + what + ", not '" + text + "'";
      },
      low > 0 ? "POSITIVE" : "NONNEGATIVE");
}
/// Accepts counts of steps, samples and batches. The bound keeps products of two counts in 64 bits.
inline CLI::Validator positiveCount() { return wholeNumber(1, 1'000'000'000, "a positive whole number up to 10^9"); }
inline CLI::Validator count() { return wholeNumber(0, 1'000'000'000, "0 or a positive whole number up to 10^9"); }

/// Accepts one of the names in "a,b,c".
inline CLI::Validator oneOf(const std::string &names) {
  return CLI::Validator(
      [=](std::string &text) {
        bool known = text.find(',') == text.npos && ("," + names + ",").find("," + text + ",") != text.npos;
        return known ? std::string() : "must be one of " + names + ", not '" + text + "'";
      },
      "{" + names + "}");
}

/// Accepts a finite number from `low` to `high`, described as `what`: "must be a positive number, not 'x'".
inline CLI::Validator numberFrom(double low, double high, const char *what) {
  return CLI::Validator(
      [=](std::string &text) {
        double value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool good = error == std::errc() && end == text.data() + text.size() && value >= low && value <= high;
        return good ? std::string() : std::string("must be ") + what + ", not '" + text + "'";
      },
      low > 0 ? "POSITIVE" : "NONNEGATIVE");
}
/// Accepts a finite number, at least 0 or above 0.
inline CLI::Validator finiteNumber(bool aboveZero) {
  return numberFrom(aboveZero ? DBL_TRUE_MIN : 0, DBL_MAX, aboveZero ? "a positive number" : "0 or a positive number");
}

} // namespace mpc::rt
