// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The samples of a data set that could not be read and were left out.
#pragma once

#include "runtime/support/Error.h"

#include <cstdint>
#include <mutex>
#include <set>
#include <string>

namespace mpc::rt {

/// Any thread may use it.
class BadSamples {
public:
  void add(uint32_t sample, const Error &error) {
    std::lock_guard lock(mutex_);
    if (samples_.empty())
      first_ = concat(error.where(), ": ", error.clause());
    samples_.insert(sample);
  }
  bool contains(uint32_t sample) const {
    std::lock_guard lock(mutex_);
    return samples_.count(sample) != 0;
  }
  size_t count() const {
    std::lock_guard lock(mutex_);
    return samples_.size();
  }
  /// Returns "3 samples could not be read and are left out of their batches, first FILE: WHAT"; "" where there is none.
  std::string text() const {
    std::lock_guard lock(mutex_);
    if (samples_.empty())
      return "";
    const bool one = samples_.size() == 1;
    return concat(samples_.size(), one ? " sample" : " samples", " could not be read and ",
                  one ? "is left out of its batch" : "are left out of their batches", ", first ", first_);
  }

private:
  mutable std::mutex mutex_;
  std::set<uint32_t> samples_;
  std::string first_;
};

} // namespace mpc::rt
