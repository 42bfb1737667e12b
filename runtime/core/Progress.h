// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shows a person the progress of long work: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace mpc::rt {

class Progress {
public:
  /// `total`: steps or samples until the end; `done`: how many of them are done at the start (a resumed training).
  Progress(std::string title, int64_t total, int64_t done = 0);
  ~Progress();

  bool terminal() const { return terminal_; }
  /// Redraws the bar at most ten times a second, with `status` behind it. Does nothing if the output is not a terminal.
  void update(int64_t done, const std::string &status);
  /// Returns the seconds that the rest takes at the rate so far; nothing while no rate is known.
  std::optional<double> secondsLeft(int64_t done) const;
  bool due() const;
  /// Prints a line above the bar.
  void line(const std::string &text);
  /// Returns the seconds since the start.
  double seconds() const;

private:
  void clear();
  std::string title_;
  int64_t total_, first_;
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

/// Returns the bar's line, which fits into `columns` and never wraps. Of `status`, whose items are separated by two
/// blanks, the last items are left out where there is no room for them.
std::string barText(const std::string &title, int64_t done, int64_t total, std::optional<double> secondsLeft,
                    std::string status, int columns);

/// Returns "1:02:03" or "2:03".
std::string clockText(double seconds);

} // namespace mpc::rt
