// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes the lines of a training's log.
#pragma once

#include "runtime/support/Json.h"

#include <optional>

namespace mpc::rt {

class LogSink {
public:
  virtual ~LogSink() = default;
  /// Writes a line whose values are those that RunLog describes; numbers that are not finite are NaN or infinite. What
  /// was written survives the end of the process. Throws Error when it cannot be written.
  virtual void write(const json &values) = 0;
};

/// Returns the number that a value of a line is: true and false are 1 and 0, and null is NaN. Other values are none.
std::optional<double> numberOf(const json &value);

} // namespace mpc::rt
