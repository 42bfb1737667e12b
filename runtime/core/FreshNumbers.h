// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives forward passes random numbers.
#pragma once

#include "runtime/core/Session.h"
#include "runtime/support/Error.h"

namespace mpc::rt {

/// Random ops other than dropout stay random in `eval` and `predict`. They draw from the counter of the training steps,
/// which evaluation does not advance. While an object of this class lives, each batch gets its own numbers: the n-th
/// batch gets the same ones in every evaluation of one state, and never those of a training step.
class FreshNumbers {
public:
  /// `before`: the number of batches that have got numbers already.
  explicit FreshNumbers(Session &session, uint64_t before = 0)
      : session_(session), stored_(session.stores(kCounter)), batches_(before) {
    if (stored_)
      step_ = session_.variableScalar(kCounter);
  }
  ~FreshNumbers() {
    if (stored_)
      (void)attempt([&] { session_.setVariableScalar(kCounter, step_); });
  }
  FreshNumbers(const FreshNumbers &) = delete;

  /// Must be called before each batch. The low 32 bits of the counter count steps, the bits above them batches.
  void next() {
    if (stored_)
      session_.setVariableScalar(kCounter, step_ + 0x1p32 * double(++batches_ % (1 << 20)));
  }

private:
  static constexpr char kCounter[] = "rng.step";
  Session &session_;
  const bool stored_;
  double step_ = 0;
  uint64_t batches_;
};

} // namespace mpc::rt
