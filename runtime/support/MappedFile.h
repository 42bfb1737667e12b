// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maps regular files for reading.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace mpc::rt {

/// A regular file mapped read-only.
class MappedFile {
public:
  /// Opens and maps the file. Throws Error when the file cannot be opened or is not regular. It never waits: even a
  /// pipe, whose opening normally waits for a writer, is an Error at once.
  static std::shared_ptr<const MappedFile> open(const std::string &path);
  ~MappedFile();

  const std::string &path() const { return path_; }
  std::string_view bytes() const { return {static_cast<const char *>(data_), size_}; }
  /// Throws Error when the file has become shorter since it was opened. Its last page then reads as zeros after the new
  /// end, and accesses after that page fault (host/FaultReport.h).
  void checkWhole() const;
  /// Returns whether the file was written to, or became shorter, since it was opened; its time of modification says it.
  /// A program that writes through a mapping of its own may escape this.
  bool changed() const;
  /// The hint of errors about files that change.
  static constexpr char kLeaveAlone[] =
      "leave the file alone while the program runs; go on with --resume where there are checkpoints";

  /// Calls `visitor(file)` with the mapped file that holds the address, and returns whether there is one. The file
  /// stays mapped during the call. A signal handler may call it.
  template <typename Visitor>
  static bool visit(const void *address, Visitor &&visitor) {
    Visit visit(address);
    if (visit.file)
      visitor(*visit.file);
    return visit.file;
  }

private:
  struct Visit {
    explicit Visit(const void *address);
    ~Visit();
    const MappedFile *file;
  };
  MappedFile(const std::string &path, int file) : path_(path), file_(file) {}
  std::string path_;
  int file_;
  void *data_ = nullptr;
  size_t size_ = 0;
  int64_t modified_[2] = {}; // seconds and nanoseconds of the last modification when the file was opened
  std::atomic<const MappedFile *> next_ = nullptr; // links all files that are mapped
  friend struct MappedFiles;
};

} // namespace mpc::rt
