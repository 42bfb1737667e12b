// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/images/File.h"

#include "runtime/support/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mpc::images {

using rt::concat;
using rt::fail;
using rt::failErrno;

File::File(const std::string &path) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  file_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file_ < 0)
    failErrno(path, "cannot open", errno);
  struct stat info = {};
  if (fstat(file_, &info) != 0 || !S_ISREG(info.st_mode)) {
    int error = errno;
    close(file_);
    if (info.st_mode == 0)
      failErrno(path, "cannot open", error);
    fail(path, S_ISDIR(info.st_mode) ? "is a folder, not a file" : "is a pipe or a device, not a regular file",
         "remove it, or put a picture in its place");
  }
  size_ = info.st_size;
  modified_ = int64_t(info.st_mtim.tv_sec) * 1000000000 + info.st_mtim.tv_nsec;
}

File::~File() {
  if (file_ >= 0)
    close(file_);
}

File &File::operator=(File &&other) noexcept {
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  std::swap(modified_, other.modified_);
  return *this;
}

void File::read(int64_t offset, void *target, size_t bytes) const {
  auto *to = static_cast<char *>(target);
  while (bytes > 0) {
    ssize_t got = pread(file_, to, bytes, off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      failErrno("", "cannot read", errno);
    if (got == 0)
      fail("", "became shorter while it was read", "leave the files alone while the program runs");
    to += got;
    offset += got;
    bytes -= size_t(got);
  }
}

std::string readText(const std::string &path, const char *kind) {
  constexpr int64_t kMostBytes = int64_t(1) << 30;
  File file(path);
  if (file.size() > kMostBytes)
    fail(
        path,
        concat("has ", rt::bytesText(file.size()), "; ", kind, "s of at most ", rt::bytesText(kMostBytes), " are read"),
        "divide it");
  std::string text(size_t(file.size()), '\0');
  file.read(0, text.data(), text.size());
  if (text.starts_with("\xef\xbb\xbf")) // what some editors put before UTF-8
    text.erase(0, 3);
  if (text.find('\0') != text.npos)
    fail(path, concat("is no ", kind, ", because it has bytes of zero"),
         concat("save the ", kind, " as text in UTF-8"));
  return text;
}

bool endsWith(const char *name, size_t length, const char *end) {
  size_t tail = std::strlen(end);
  return length >= tail && strcasecmp(name + length - tail, end) == 0;
}

bool isPictureName(const std::string &name) {
  for (const char *end : {".jpg", ".jpeg", ".png"})
    if (endsWith(name.c_str(), name.size(), end))
      return true;
  return false;
}

} // namespace mpc::images
