// Random numbers of forward passes.
#pragma once

#include "runtime/core/Session.h"
#include "runtime/support/Error.h"

namespace mpc::rt {

/// Random ops that are no dropout stay random in `eval` and `predict`. They draw from the counter of the training steps, which evaluation does not
/// advance: while this lives, each batch gets numbers of its own, the n-th the same in every evaluation of one state, and none those of a step.
class FreshNumbers {
public:
  /// `before`: how many batches had numbers already.
  explicit FreshNumbers(Session &session, uint64_t before = 0) : session_(session), stored_(session.stores(kCounter)), batches_(before) {
    if (stored_)
      step_ = session_.variableScalar(kCounter);
  }
  ~FreshNumbers() {
    if (stored_)
      (void)attempt([&] { session_.setVariableScalar(kCounter, step_); });
  }
  FreshNumbers(const FreshNumbers &) = delete;

  /// Before each batch. Steps are counted in the low 32 bits.
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
