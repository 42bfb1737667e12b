// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Output files that are either complete or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mpc::rt {

/// Writes to a temporary name in the target's folder. commit() makes the file durable and moves it into place; the
/// destructor without commit() removes it. A path that exists and is no regular file (a device, a pipe) is
/// written directly. Every member except the destructor throws Error, for example when the disk is full.
class AtomicFile {
public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(const void *data, size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  uint64_t position() const { return position_; }
  /// Flushes the file to the disk, renames it, and flushes the folder.
  void commit();

  /// Returns true for the name of a temporary file whose process on this host is gone: it was killed, so nobody will
  /// finish the file.
  static bool isAbandoned(std::string_view fileName);

  /// Opens a device or pipe (anything that exists and is no regular file) for writing and returns its descriptor. It
  /// never waits: a pipe that nobody reads is an Error.
  static int openDevice(const std::string &path);

private:
  std::string path_, temporary_; // temporary_ is empty when path_ is written directly
  int file_ = -1;
  uint64_t position_ = 0;
};

} // namespace mpc::rt
