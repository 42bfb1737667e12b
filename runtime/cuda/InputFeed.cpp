// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/InputFeed.h"

#include <cstring>

namespace mpc::rt::cuda {

InputFeed::InputFeed(Context &context, StreamHandle compute, Address arena, size_t bytes, size_t count)
    : context_(context), compute_(compute), copy_(context.stream()), arena_(arena), bytes_(bytes) {
  pieces_.reserve(count);
  if (bytes == 0)
    return;
  for (Block &block : blocks_) {
    block.pinned = context.allocatePinned(bytes);
    block.device = context.allocate(int64_t(bytes), "the inputs");
    block.copied = context.event();
    block.delivered = context.event();
  }
}

void InputFeed::stage(int64_t offset, const void *bytes, size_t count) {
  if (filled_ + aligned(count) > bytes_)
    deliver(); // happens when an input was written twice
  Block &block = blocks_[current_];
  if (filled_ == 0 && block.used)
    context_.check(context_.driver().eventSynchronize(block.copied));
  std::memcpy(block.pinned + filled_, bytes, count);
  pieces_.push_back({offset, filled_, count});
  filled_ += aligned(count);
}

void InputFeed::deliver() {
  if (pieces_.empty())
    return;
  const Driver &cu = context_.driver();
  Block &block = blocks_[current_];
  if (block.used)
    context_.check(cu.streamWaitEvent(copy_, block.delivered, 0));
  context_.check(cu.memcpyHtoDAsync(block.device, block.pinned, filled_, copy_));
  context_.check(cu.eventRecord(block.copied, copy_));
  context_.check(cu.streamWaitEvent(compute_, block.copied, 0));
  for (const Piece &piece : pieces_)
    context_.check(cu.memcpyDtoDAsync(arena_ + uint64_t(piece.offset), block.device + piece.at, piece.count, compute_));
  context_.check(cu.eventRecord(block.delivered, compute_));
  block.used = true;
  current_ ^= 1;
  filled_ = 0;
  pieces_.clear();
}

} // namespace mpc::rt::cuda
