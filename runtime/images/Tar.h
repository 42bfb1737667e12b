// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the members of a tar archive by reading headers only: POSIX ustar and pax, GNU's long names, and the older
// form.
#pragma once

#include "runtime/images/File.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mpc::images {

/// A member. Nothing but regular files has data here.
struct TarMember {
  std::string name;    ///< as the archive has it
  const char *notFile; ///< "a link", "a device", ... or null for a regular file
  int64_t offset, bytes;
};

/// Goes through an archive. Errors are located at the archive, or at "ARCHIVE: MEMBER".
class TarReader {
public:
  TarReader(const File &file, const std::string &path) : file_(file), path_(path) {}
  /// Reads the next member. Returns false at the mark of the archive's end; throws Error where the archive ends without
  /// it.
  bool next(TarMember &member);

  /// Returns whether a file that begins with these bytes is a tar archive, by the checksum of its first header.
  static bool recognizes(const uint8_t *data, size_t bytes);

private:
  struct Extended;
  /// Reads the data of a header that extends the next one.
  std::string extension(int64_t bytes);
  void readRecords(std::string_view records, bool global, Extended &extended);
  [[noreturn]] void refuse(const std::string &member, const char *what) const;

  const File &file_;
  const std::string &path_;
  int64_t at_ = 0;
};

} // namespace mpc::images
