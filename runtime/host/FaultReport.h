// Signals that end a process, as sentences.
#pragma once

#include <csignal>
#include <string>

namespace mpc::rt {

/// From now on an access behind the end of a mapped file, which somebody has shortened meanwhile, ends the process with status 1
/// and an error that names the file. For programs: in a library the signal is the host's.
void reportShortenedFiles();

/// While one lives, a signal that stops the process (an access beyond memory, a division by zero) ends it
/// with status 1 and an error that says where it came.
class FaultReport {
public:
  FaultReport();
  ~FaultReport();
  FaultReport(const FaultReport &) = delete;
  FaultReport &operator=(const FaultReport &) = delete;

  /// What begins now: "launch 'conv1' (Conv_0)".
  void enter(const std::string &what);

private:
  struct sigaction before_[4];
};

} // namespace mpc::rt
