// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads regular files by offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mpc::images {

/// A regular file that is open for reading. Several threads may read it.
class File {
public:
  File() = default;
  /// Throws Error, located at the path, if the file cannot be opened or is not regular. It never waits, even for a
  /// pipe.
  explicit File(const std::string &path);
  ~File();
  File(File &&other) noexcept : file_(other.file_), size_(other.size_), modified_(other.modified_) { other.file_ = -1; }
  File &operator=(File &&other) noexcept;

  int64_t size() const { return size_; }
  /// Returns the time of modification in nanoseconds.
  int64_t modified() const { return modified_; }
  /// Reads exactly so many bytes. Throws Error without a place if the file has become shorter or the disk fails.
  void read(int64_t offset, void *target, size_t bytes) const;

private:
  int file_ = -1;
  int64_t size_ = 0, modified_ = 0;
};

/// Returns the text of a file of at most 1 GiB, without a byte order mark. `kind` is what it should be, for messages:
/// "list". Throws Error located at the path, also for bytes of zero.
std::string readText(const std::string &path, const char *kind);

/// Returns whether the name has one of these ends, in any case: endsWith(name, ".jpg").
bool endsWith(const char *name, size_t length, const char *end);
/// Returns whether the name is that of a picture: .jpg, .jpeg or .png, in any case.
bool isPictureName(const std::string &name);

} // namespace mpc::images
