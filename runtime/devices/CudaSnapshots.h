// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalars that the GPU copies out between two runs, so that the process can read them later.
#pragma once

#include "runtime/core/Device.h"
#include "runtime/cuda/Context.h"

namespace mpc::rt {

/// A slot is a piece of pinned memory and an event. Ranges that lie close together are copied together.
class CudaSnapshots : public Snapshots {
public:
  CudaSnapshots(cuda::Context &context, cuda::StreamHandle stream, cuda::Address arena,
                const std::vector<ArenaRange> &ranges, size_t slots);

  void take(size_t slot) override;
  const std::byte *range(size_t slot, size_t index) override;

private:
  struct Run {
    int64_t begin, end; // range in the arena
    size_t at;          // offset in the slot
  };
  cuda::Context &context_;
  cuda::StreamHandle stream_;
  cuda::Address arena_;
  std::vector<Run> runs_;
  std::vector<size_t> rangeAt_; // offset of each range in the slot
  size_t slotBytes_ = 0;
  std::byte *pinned_ = nullptr;
  std::vector<cuda::EventHandle> events_; // one per slot
};

} // namespace mpc::rt
