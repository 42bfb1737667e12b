// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Progress.h"

#include "runtime/support/Error.h"
#include "runtime/support/Terminal.h"

#include <algorithm>
#include <cstdio>

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
    : title_(std::move(title)), total_(std::max<int64_t>(total, 1)), first_(done), terminal_(redraws(1)),
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
  std::puts(withPaintedLabels(text, 1).c_str());
  std::fflush(stdout);
}

std::optional<double> Progress::secondsLeft(int64_t done) const {
  if (done <= first_)
    return std::nullopt;
  return double(std::max<int64_t>(total_ - done, 0)) * seconds() / double(done - first_);
}

std::string barText(const std::string &title, int64_t done, int64_t total, std::optional<double> secondsLeft,
                    std::string status, int columns) {
  constexpr int kFrame = 3, kLeast = 10, kMost = 30; // " [", "]", and the widths that a bar may have
  std::string counts = concat(" ", done, "/", total);
  if (secondsLeft)
    counts += "  left " + clockText(*secondsLeft);
  // A character in the last column would make some terminals begin a new line.
  const int room = columns - 1 - int(title.size() + counts.size());
  while (!status.empty() && int(status.size()) + 2 > room - kFrame - kLeast) {
    size_t cut = status.rfind("  ");
    status.resize(cut == status.npos ? 0 : cut);
  }
  if (!status.empty())
    counts += "  " + status;
  int width = std::min(columns - 1 - int(title.size() + counts.size()) - kFrame, kMost);
  std::string text = title;
  if (width >= kLeast) {
    int full = int(std::min(done, total) * width / std::max<int64_t>(total, 1));
    text += " [" + std::string(size_t(full), '#') + std::string(size_t(width - full), '.') + "]";
  }
  text += counts;
  text.resize(std::min(text.size(), size_t(std::max(columns - 1, 0))));
  return text;
}

void Progress::update(int64_t done, const std::string &status) {
  if (!due())
    return;
  last_ = Clock::now();
  std::string text = barText(title_, done, total_, secondsLeft(done), status, columnsOf(1));
  if (size_t begin = text.find('#'), end = text.find_last_of('#') + 1; begin != text.npos)
    text = text.substr(0, begin) + painted(text.substr(begin, end - begin), Colour::Green, 1) + text.substr(end);
  std::printf("\r\x1b[K%s", text.c_str());
  std::fflush(stdout);
  drawn_ = true;
}

} // namespace mpc::rt
