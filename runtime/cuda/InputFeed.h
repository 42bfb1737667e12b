// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sends inputs to the GPU while it still works on those before.
#pragma once

#include "runtime/cuda/Context.h"

namespace mpc::rt::cuda {

/// Inputs share the arena with temporaries of the previous run, so they wait outside the arena: first in pinned memory,
/// then (copied on a separate stream) in a block of device memory; after that run they are copied into the arena. There
/// are two of each, so that one batch is copied while the GPU computes on the other.
class InputFeed {
public:
  /// `bytes`: size of all inputs of one run; `count`: the most inputs that a run has. `compute` is the stream that
  /// finds them in `arena`.
  InputFeed(Context &context, StreamHandle compute, Address arena, size_t bytes, size_t count);

  /// Returns the part of `bytes` that an input takes.
  static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }
  /// Copies an input of the next run; waits while both blocks are still being copied from.
  void stage(int64_t offset, const void *bytes, size_t count);
  /// Makes the staged inputs available on the compute stream, before all work that is put on it from now on.
  void deliver();

private:
  struct Block {
    std::byte *pinned;
    Address device;
    EventHandle copied, delivered; // the data has left the pinned memory; the data has left the device's block
    bool used = false;             // true once the events were recorded
  };
  struct Piece {
    int64_t offset; // offset in the arena
    size_t at, count;
  };
  Context &context_;
  StreamHandle compute_, copy_;
  Address arena_;
  size_t bytes_, filled_ = 0;
  Block blocks_[2];
  int current_ = 0;
  std::vector<Piece> pieces_; // pieces in the current block
};

} // namespace mpc::rt::cuda
