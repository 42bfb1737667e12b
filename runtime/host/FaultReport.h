// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports signals that end a process as sentences.
#pragma once

#include <csignal>
#include <string>

namespace mpc::rt {

/// After this call an access behind the end of a mapped file, which somebody has shortened in the meantime, ends the
/// process with status 1 and an error that names the file. Only programs call it: in a library the signal belongs to
/// the application.
void reportShortenedFiles();

/// While an object of this class lives, a signal that stops the process (an access beyond memory, a division by zero)
/// ends it with status 1 and an error that says where it occurred.
class FaultReport {
public:
  FaultReport();
  ~FaultReport();
  FaultReport(const FaultReport &) = delete;
  FaultReport &operator=(const FaultReport &) = delete;

  /// Says what begins now: "launch 'conv1' (Conv_0)".
  void enter(const std::string &what);

private:
  struct sigaction before_[4];
};

} // namespace mpc::rt
