// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device whose arena is memory of the process.
#pragma once

#include "runtime/core/Arena.h"
#include "runtime/core/Device.h"

#include <cstring>

namespace mpc::rt {

class ArenaDevice : public Device {
public:
  void write(int64_t offset, const void *bytes, size_t count) final { std::memcpy(arena_.at(offset), bytes, count); }
  void read(int64_t offset, void *bytes, size_t count) const final { std::memcpy(bytes, arena_.at(offset), count); }
  std::byte *mapped(int64_t offset) const final { return arena_.at(offset); }

protected:
  explicit ArenaDevice(int64_t bytes) : arena_(bytes) {}
  Arena arena_;
};

} // namespace mpc::rt
