// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/AtomicFile.h"

#include "runtime/support/Error.h"
#include "runtime/support/Random.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rt {

/// A temporary name is ".NAME.mpc-tmp-PID-RUN-HOST". RUN distinguishes processes of one PID (in a container
/// every run may be process 1): it is the clock in nanoseconds when the process first asked. HOST is a hash of the
/// host's name, because only processes of this host can be checked.
static constexpr std::string_view kSuffix = ".mpc-tmp-";
static constexpr size_t kLargestWrite = size_t(1) << 30; // the kernel writes at most 2 GiB at once

static uint64_t thisRun() {
  static const uint64_t run = uint64_t(std::chrono::system_clock::now().time_since_epoch().count());
  return run;
}

static uint64_t thisHost() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return hashOf(name) >> 32;
}

int AtomicFile::openDevice(const std::string &path) {
  struct stat info;
  int file = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0 && errno == ENXIO && stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode))
    fail(path, "is a pipe that nobody reads", "start its reader first, or name a file");
  if (file < 0)
    failErrno(path, "cannot write", errno);
  fcntl(file, F_SETFL, O_WRONLY); // O_NONBLOCK was only for opening: writing does wait for a slow reader
  return file;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat info;
  bool exists = stat(path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    fail(path_, "is a folder", "name a file");
  if (exists && !S_ISREG(info.st_mode)) {
    file_ = openDevice(path_);
  } else {
    size_t slash = path_.rfind('/') + 1; // npos + 1 is 0
    temporary_ =
        concat(path_.substr(0, slash), ".", path_.substr(slash), kSuffix, getpid(), '-', thisRun(), '-', thisHost());
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (file_ < 0) {
    int error = errno;
    temporary_.clear();
    failErrno(path_, "cannot write", error);
  }
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0)
    close(file_);
  if (!temporary_.empty())
    unlink(temporary_.c_str());
}

void AtomicFile::write(const void *data, size_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = ::write(file_, next, std::min(bytes, kLargestWrite));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      failErrno(path_, "cannot write", errno);
    next += written;
    bytes -= size_t(written);
    position_ += size_t(written);
  }
}

void AtomicFile::commit() {
  if (!temporary_.empty() && fsync(file_) != 0)
    failErrno(path_, "cannot write", errno);
  int closed = close(file_);
  file_ = -1;
  if (closed != 0)
    failErrno(path_, "cannot write", errno);
  if (temporary_.empty())
    return;
  size_t slash = path_.rfind('/');
  std::string folder = slash == path_.npos ? "." : path_.substr(0, slash + 1); // behind the rename nothing may fail
  if (rename(temporary_.c_str(), path_.c_str()) != 0)
    failErrno(path_, "cannot move the finished file into place", errno);
  temporary_.clear();
  int handle = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    fsync(handle); // some file systems cannot do this; the rename itself has happened
    close(handle);
  }
}

bool AtomicFile::isAbandoned(std::string_view fileName) {
  size_t at = fileName.rfind(kSuffix);
  if (!fileName.starts_with('.') || at == fileName.npos)
    return false;
  const char *next = fileName.data() + at + kSuffix.size(), *end = fileName.data() + fileName.size();
  uint64_t fields[3]; // PID, RUN, HOST
  for (size_t i = 0; i < 3; ++i) {
    if (i > 0 && (next == end || *next++ != '-'))
      return false;
    auto [behind, error] = std::from_chars(next, end, fields[i]);
    if (error != std::errc())
      return false;
    next = behind;
  }
  auto [pid, run, host] = fields;
  if (next != end || host != thisHost() || pid == 0 || pid > INT32_MAX)
    return false;
  return pid_t(pid) == getpid() ? run != thisRun() : kill(pid_t(pid), 0) != 0 && errno == ESRCH;
}

} // namespace mpc::rt
