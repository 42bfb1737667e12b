// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Device.h"

#include "runtime/support/Error.h"

namespace mpc::rt {

namespace {
/// For devices whose `run` returns only when all work is done: taking a snapshot reads the arena at once.
class ReadSnapshots : public Snapshots {
public:
  ReadSnapshots(const Device &device, std::vector<ArenaRange> ranges, size_t slots)
      : device_(device), ranges_(std::move(ranges)) {
    for (const ArenaRange &range : ranges_)
      slotBytes_ += range.bytes;
    bytes_.resize(slots * slotBytes_);
  }
  void take(size_t slot) override {
    std::byte *to = bytes_.data() + slot * slotBytes_;
    for (const ArenaRange &range : ranges_) {
      device_.read(range.offset, to, range.bytes);
      to += range.bytes;
    }
  }
  const std::byte *range(size_t slot, size_t index) override {
    const std::byte *at = bytes_.data() + slot * slotBytes_;
    for (size_t i = 0; i < index; ++i)
      at += ranges_[i].bytes;
    return at;
  }

private:
  const Device &device_;
  std::vector<ArenaRange> ranges_;
  size_t slotBytes_ = 0;
  std::vector<std::byte> bytes_;
};
} // namespace

std::string describe(const Launch &launch) {
  return concat("'", launch.name, "'", launch.loc.empty() ? "" : concat(" (", launch.loc, ")"));
}

std::unique_ptr<Snapshots> Device::snapshots(std::vector<ArenaRange> ranges, size_t slots) {
  return std::make_unique<ReadSnapshots>(*this, std::move(ranges), slots);
}

} // namespace mpc::rt
