// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Progress.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace mpc::rt {

using Clock = std::chrono::steady_clock;

std::string clockText(double seconds) {
  long long s = static_cast<long long>(seconds + 0.5);
  char text[48];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", s / 60, s % 60);
  return text;
}

Progress::Progress(std::string title, int64_t total, int64_t done)
    : title_(std::move(title)), total_(std::max<int64_t>(total, 1)), first_(done), terminal_(isatty(1) != 0),
      start_(Clock::now()), last_(start_ - std::chrono::hours(1)) {}

Progress::~Progress() { clear(); }

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

bool Progress::due() const { return terminal_ && Clock::now() - last_ >= std::chrono::milliseconds(100); }

void Progress::clear() {
  if (drawn_)
    std::fputs("\r\x1b[K", stdout);
  drawn_ = false;
  std::fflush(stdout);
}

void Progress::line(const std::string &text) {
  clear();
  std::puts(text.c_str());
  std::fflush(stdout);
}

void Progress::update(int64_t done, const std::string &status) {
  if (!due())
    return;
  last_ = Clock::now();
  winsize window = {};
  int columns = ioctl(1, TIOCGWINSZ, &window) == 0 && window.ws_col > 20 ? window.ws_col : 80;
  double rate = seconds() > 0 ? double(done - first_) / seconds() : 0;
  std::string tail = concat(" ", done, "/", total_, " ", status);
  if (rate > 0)
    tail += " ETA " + clockText(double(total_ - done) / rate);
  int width = std::clamp(columns - int(title_.size() + tail.size()) - 4, 0, 30);
  int full = int(std::min<int64_t>(done, total_) * width / total_);
  std::string text = title_;
  if (width >= 5)
    text += " [" + std::string(size_t(full), '#') + std::string(size_t(width - full), '.') + "]";
  text += tail;
  text.resize(std::min(text.size(), size_t(columns - 1)));
  std::printf("\r\x1b[K%s", text.c_str());
  std::fflush(stdout);
  drawn_ = true;
}

} // namespace mpc::rt
