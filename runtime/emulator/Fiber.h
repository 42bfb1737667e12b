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
  /// Its lowest byte.
  void *bottom(size_t i) const;

private:
  size_t count_ = 0, bytes_ = 0;
  char *base_ = nullptr;
};

#if defined(__SANITIZE_ADDRESS__)
#define MPC_EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPC_EMU_ASAN 1
#endif
#endif

/// A suspended computation.
struct Context {
  void *registers = nullptr; ///< where they are saved
#ifdef MPC_EMU_ASAN
  const void *bottom = nullptr; ///< of its stack, which AddressSanitizer is told of at every switch
  size_t bytes = 0;
#endif
};

/// A computation that will call entry(argument) on stack `i`. entry never returns, and calls contextStarted() first.
Context makeContext(const Stacks &stacks, size_t i, void (*entry)(void *), void *argument);
void contextStarted();
/// Saves the running computation in `from` and continues `to`.
void switchContext(Context &from, const Context &to);

} // namespace mpc::rt::emulator
