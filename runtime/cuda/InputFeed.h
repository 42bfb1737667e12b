// Inputs on their way to the GPU while it still works on those before.
#pragma once

#include "runtime/cuda/Context.h"

namespace mpc::rt::cuda {

/// Inputs share the arena with temporaries of the run before, so they wait beside it: pinned memory, then (on
/// a stream of its own) a block of device memory, then, behind that run, the arena. Two of each, so that one
/// batch is copied while the other is computed on.
class InputFeed {
public:
  /// `bytes`: all inputs of one run, `count`: how many there are at most. `arena` is where `compute` finds
  /// them.
  InputFeed(Context &context, StreamHandle compute, Address arena, size_t bytes, size_t count);

  /// Room that an input takes in `bytes`.
  static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }
  /// Takes a copy of an input of the next run; waits where both blocks are still being copied from.
  void stage(int64_t offset, const void *bytes, size_t count);
  /// Lets the compute stream have what was staged, before anything that is put on it from now on.
  void deliver();

private:
  struct Block {
    std::byte *pinned;
    Address device;
    EventHandle copied, delivered; // out of the pinned memory; out of the device's
    bool used = false;             // so that the events were recorded
  };
  struct Piece {
    int64_t offset; // in the arena
    size_t at, count;
  };
  Context &context_;
  StreamHandle compute_, copy_;
  Address arena_;
  size_t bytes_, filled_ = 0;
  Block blocks_[2];
  int current_ = 0;
  std::vector<Piece> pieces_; // of the current block
};

} // namespace mpc::rt::cuda
