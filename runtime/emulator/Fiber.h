// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives each GPU thread its own stack, and switches between them.
#pragma once

#include <cstddef>

namespace mpc::rt::emulator {

/// `count` stacks, each with an inaccessible page below it, so that an overflow is a segmentation fault instead
/// of silent damage.
class Stacks {
public:
  explicit Stacks(size_t count);
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  size_t count() const { return count_; }
  /// Returns the end of stack `i`, aligned to 16 bytes.
  void *top(size_t i) const;
  /// Returns the lowest byte of stack `i`.
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
  void *registers = nullptr; ///< address where they are saved
#ifdef MPC_EMU_ASAN
  const void *bottom = nullptr; ///< lowest byte of its stack; AddressSanitizer is told of it at every switch
  size_t bytes = 0;
#endif
};

/// Makes a computation that will call entry(argument) on stack `i`. entry must call contextStarted() first
/// and never return.
Context makeContext(const Stacks &stacks, size_t i, void (*entry)(void *), void *argument);
void contextStarted();
/// Saves the running computation in `from` and continues `to`.
void switchContext(Context &from, const Context &to);

} // namespace mpc::rt::emulator
