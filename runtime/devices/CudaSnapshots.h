// Scalars that the GPU copies out between two runs, for the process to look at later.
#pragma once

#include "runtime/core/Device.h"
#include "runtime/cuda/Context.h"

namespace mpc::rt {

/// A slot is a piece of pinned memory and an event. Ranges that lie close together are copied as one.
class CudaSnapshots : public Snapshots {
public:
  CudaSnapshots(cuda::Context &context, cuda::StreamHandle stream, cuda::Address arena,
                const std::vector<ArenaRange> &ranges, size_t slots);

  void take(size_t slot) override;
  const std::byte *range(size_t slot, size_t index) override;

private:
  struct Run {
    int64_t begin, end; // in the arena
    size_t at;          // in the slot
  };
  cuda::Context &context_;
  cuda::StreamHandle stream_;
  cuda::Address arena_;
  std::vector<Run> runs_;
  std::vector<size_t> rangeAt_; // in the slot
  size_t slotBytes_ = 0;
  std::byte *pinned_ = nullptr;
  std::vector<cuda::EventHandle> events_; // a slot each
};

} // namespace mpc::rt
