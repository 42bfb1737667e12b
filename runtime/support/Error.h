// A user's mistake, or a failing system call, as a located message with a hint.
//
// Loading code throws Error; the runner's main and in-process users catch it once. Nothing throws inside a step.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mpc::rt {

class Error : public std::runtime_error {
public:
  /// `where`: the file, array, tensor or option at fault; may be empty. `what`: one clause without a full stop.
  /// `hint`: the user's next action; may be empty.
  Error(std::string where, std::string what, std::string hint = {});

  const std::string &where() const { return where_; }
  const std::string &hint() const { return hint_; }
  /// "error: WHERE: WHAT\nhint: HINT\n".
  std::string text() const;

private:
  std::string where_, what_, hint_;
};

/// Throws Error.
[[noreturn]] void fail(std::string where, std::string what, std::string hint = {});
/// Throws Error for a failed system call: `action` is "cannot open", `errorNumber` is errno.
[[noreturn]] void failErrno(std::string where, std::string_view action, int errorNumber);

/// Runs `work` and returns the error it threw (of any kind), for callers that are built without exceptions.
std::optional<Error> attempt(const std::function<void()> &work);

/// Joins strings and numbers: concat("sample ", 3).
namespace detail {
inline void append(std::string &out, std::string_view text) { out += text; }
inline void append(std::string &out, const char *text) { out += text; }
inline void append(std::string &out, const std::string &text) { out += text; }
inline void append(std::string &out, char c) { out += c; }
inline void append(std::string &out, int value) { out += std::to_string(value); }
inline void append(std::string &out, unsigned value) { out += std::to_string(value); }
inline void append(std::string &out, long value) { out += std::to_string(value); }
inline void append(std::string &out, long long value) { out += std::to_string(value); }
inline void append(std::string &out, unsigned long value) { out += std::to_string(value); }
inline void append(std::string &out, unsigned long long value) { out += std::to_string(value); }
void append(std::string &out, double value); // shortest form with 6 significant digits
} // namespace detail

template <typename... Parts> std::string concat(const Parts &...parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

} // namespace mpc::rt
