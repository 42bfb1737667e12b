// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

namespace mpc::rt {

static std::string located(const std::string &where, const std::string &what) {
  return where.empty() ? what : where + ": " + what;
}

Error::Error(std::string where, std::string what, std::string hint)
    : std::runtime_error(located(where, what)), where_(std::move(where)), what_(std::move(what)),
      hint_(std::move(hint)) {}

std::string Error::text() const {
  std::string out = concat("error: ", what(), "\n");
  if (!hint_.empty())
    out += concat("hint: ", hint_, "\n");
  return out;
}

void fail(Text where, Text what, Text hint) { throw Error(where.copy(), what.copy(), hint.copy()); }

void failErrno(Text where, std::string_view action, int errorNumber) {
  std::string hint;
  if (errorNumber == ENOSPC || errorNumber == EDQUOT)
    hint = "free some disk space or write to another file system";
  else if (errorNumber == ENOENT)
    hint = "check the path";
  else if (errorNumber == EACCES || errorNumber == EPERM || errorNumber == EROFS)
    hint = "check the permissions of the file and its folder";
  else
    hint = "check the path, or take another one";
  throw Error(where.copy(), concat(action, ": ", std::strerror(errorNumber)), std::move(hint));
}

[[gnu::cold, gnu::noinline]] static Error defect(const std::exception &error) {
  return Error("", error.what(), "this is a defect of mpc; please report it");
}

/// Throws std::bad_alloc where memory is too short for a copy of the error.
static std::optional<Error> caught(FunctionRef<void()> work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error &error) {
    return error;
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::length_error &) {
    return Error("", "out of memory: a size is beyond what a program can have", "use a smaller batch or less data");
  } catch (const std::system_error &error) {
    // std::thread throws it; files and everything else have errors of their own.
    if (error.code() == std::errc::resource_unavailable_try_again)
      return Error("", "the system lets this process start no more threads",
                   "use fewer (--threads), or raise the limit (ulimit -u; pids of a container)");
    return defect(error);
  } catch (const std::exception &error) {
    return defect(error);
  }
}

std::optional<Error> attempt(FunctionRef<void()> work) {
  try {
    return caught(work);
  } catch (const std::bad_alloc &) {
    return Error("", "out of memory", "use a smaller batch or less data");
  }
}

Piece::Piece(long long value) : text_(buffer_, size_t(std::snprintf(buffer_, sizeof buffer_, "%lld", value))) {}
Piece::Piece(unsigned long long value)
    : text_(buffer_, size_t(std::snprintf(buffer_, sizeof buffer_, "%llu", value))) {}
Piece::Piece(double value) : text_(buffer_, size_t(std::snprintf(buffer_, sizeof buffer_, "%.6g", value))) {}

std::string bytesText(int64_t bytes) {
  char text[48];
  if (bytes >= 1 << 20)
    std::snprintf(text, sizeof text, "%.1f MiB", double(bytes) / (1 << 20));
  else if (bytes >= 1 << 10)
    std::snprintf(text, sizeof text, "%.1f KiB", double(bytes) / (1 << 10));
  else
    std::snprintf(text, sizeof text, "%lld bytes", static_cast<long long>(bytes));
  return text;
}

std::string join(std::initializer_list<const Piece *> pieces) {
  std::string out;
  for (const Piece *piece : pieces)
    out += piece->text();
  return out;
}

} // namespace mpc::rt
