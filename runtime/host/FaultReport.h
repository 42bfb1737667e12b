// Names the launch in which a kernel of the host faults.
#pragma once

#include <string>

namespace mpc::rt {

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
};

} // namespace mpc::rt
