// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives an evaluation or a prediction carried states of its own.
#pragma once

#include "runtime/core/Session.h"
#include "runtime/support/Error.h"

#include <utility>
#include <vector>

namespace mpc::rt {

/// While an object of this class lives, the session's carried states are those of another sequence of batches, which
/// starts with their initial values. Afterwards they are what they were, so that a training goes on as it would have
/// without the evaluation.
class OwnSequence {
public:
  explicit OwnSequence(Session &session) : session_(session) {
    for (const Variable &variable : session.manifest().variables)
      if (variable.role == "state" && session.stores(variable.name))
        before_.emplace_back(&variable, session.variable(variable.name));
    session.beginSequence();
  }
  ~OwnSequence() {
    for (const auto &[variable, value] : before_)
      (void)attempt([&] { session_.setVariable(variable->name, value); });
  }
  OwnSequence(const OwnSequence &) = delete;

private:
  Session &session_;
  std::vector<std::pair<const Variable *, Tensor>> before_;
};

} // namespace mpc::rt
