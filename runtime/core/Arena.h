// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one block of memory that holds everything a plan uses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpc::rt {

/// Zeroed, page-aligned memory, in huge pages if the system grants them.
class Arena {
public:
  /// Throws Error when the system does not have that much memory.
  explicit Arena(int64_t bytes);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  /// Returns the address of a byte offset.
  std::byte *at(int64_t offset) const { return base_ + offset; }
  int64_t bytes() const { return bytes_; }

private:
  std::byte *base_ = nullptr;
  int64_t bytes_ = 0;
  size_t mapped_ = 0;
  void *mapping_ = nullptr;
};

} // namespace mpc::rt
