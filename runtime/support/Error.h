// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports a user's mistake, or a failing system call, as a located message with a hint.
//
// Loading code throws Error; the runner's main and in-process users catch it once. No step throws.
#pragma once

#include "runtime/support/FunctionRef.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mpc::rt {

class Error : public std::runtime_error {
public:
  /// `where`: the file, array, tensor or option at fault; may be empty. `what`: one clause without a full
  /// stop. `hint`: the user's next action; may be empty.
  Error(std::string where, std::string what, std::string hint = {});

  const std::string &where() const { return where_; }
  /// Returns the clause without `where`.
  const std::string &clause() const { return what_; }
  const std::string &hint() const { return hint_; }
  /// Returns "error: WHERE: WHAT\nhint: HINT\n".
  std::string text() const;

private:
  std::string where_, what_, hint_;
};

/// A text that is not copied. It is made in place, so that the length of a literal is a constant: a string, or a view
/// that a function makes, would add dozens of bytes to each call of fail().
class Text {
public:
  [[gnu::always_inline]] Text(const char *text) : data_(text), size_(__builtin_strlen(text)) {}
  [[gnu::always_inline]] Text(const std::string &text) : data_(text.data()), size_(text.size()) {}
  [[gnu::always_inline]] Text(std::string_view text) : data_(text.data()), size_(text.size()) {}
  std::string copy() const { return std::string(data_, size_); }

private:
  const char *data_;
  size_t size_;
};

/// Throws Error.
[[noreturn]] void fail(Text where, Text what, Text hint);
/// Throws Error for a failed system call: `action` is "cannot open", `errorNumber` is errno.
[[noreturn]] void failErrno(Text where, std::string_view action, int errorNumber);

/// Runs `work` and returns the error it threw (of any kind), for threads, which no exception may leave, and for callers
/// that are built without exceptions.
std::optional<Error> attempt(FunctionRef<void()> work);

/// One part of a joined text: a string, or a number written into the object's own buffer.
class Piece {
public:
  Piece(std::string_view text) : text_(text) {}
  Piece(const std::string &text) : text_(text) {}
  Piece(const char *text) : text_(text) {}
  Piece(char c) : text_(buffer_, 1) { buffer_[0] = c; }
  Piece(int value) : Piece(static_cast<long long>(value)) {}
  Piece(long value) : Piece(static_cast<long long>(value)) {}
  Piece(unsigned value) : Piece(static_cast<unsigned long long>(value)) {}
  Piece(unsigned long value) : Piece(static_cast<unsigned long long>(value)) {}
  Piece(long long value);
  Piece(unsigned long long value);
  Piece(double value); // prints 6 significant digits
  Piece(const Piece &) = delete;
  std::string_view text() const { return text_; }

private:
  char buffer_[32];
  std::string_view text_;
};

/// Returns e.g. "1.5 MiB".
std::string bytesText(int64_t bytes);

std::string join(std::initializer_list<const Piece *> pieces);

/// Joins strings and numbers: concat("sample ", 3). All combinations share one function, which keeps the runner small.
template <typename... Parts>
std::string concat(const Parts &...parts) {
  return [](const auto &...pieces) { return join({&pieces...}); }(Piece(parts)...);
}

} // namespace mpc::rt
