// Stacks of their own for GPU threads, and the switch between them.
#pragma once

#include <cstddef>

namespace mpc::rt::emulator {

/// `count` stacks, each with an inaccessible page below it: an overflow is a segmentation fault, not silence.
class Stacks {
public:
  explicit Stacks(size_t count);
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  size_t count() const { return count_; }
  /// The end of stack `i`, aligned to 16 bytes.
  void *top(size_t i) const;

private:
  size_t count_ = 0, bytes_ = 0;
  char *base_ = nullptr;
};

/// A suspended computation: where its registers are saved.
using Context = void *;

/// A computation that will call entry(argument) on that stack; entry never returns.
Context makeContext(void *stackTop, void (*entry)(void *), void *argument);
/// Saves the running computation in `from` and continues `to`.
void switchContext(Context &from, Context to);

} // namespace mpc::rt::emulator
