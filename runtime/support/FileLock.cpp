// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/FileLock.h"

#include "runtime/support/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rt {

Lock lockFile(int file) {
  int result;
  do
    result = flock(file, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  return result == 0 ? Lock::Taken : errno == EWOULDBLOCK ? Lock::Busy : Lock::Impossible;
}

/// Returns "process 1234", or "process 1234 on host x", which the holder wrote into the file.
static std::string holder(int file) {
  char text[320] = "", host[256] = "", own[256] = "";
  long pid = 0;
  if (pread(file, text, sizeof text - 1, 0) <= 0 || std::sscanf(text, "%ld %255s", &pid, host) != 2)
    return "another process";
  gethostname(own, sizeof own - 1);
  return concat("process ", pid, std::strcmp(host, own) == 0 ? "" : concat(" on host ", host));
}

static void writeHolder(int file) {
  struct stat info;
  if (fstat(file, &info) != 0 || info.st_nlink != 1) // a link to somebody else's file must not be written
    return;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string text = concat(getpid(), " ", *host ? host : "?", "\n");
  // If this fails, the message of a second process is less exact, but the lock holds.
  if (ftruncate(file, 0) == 0) [[maybe_unused]]
    ssize_t written = pwrite(file, text.data(), text.size(), 0);
}

/// Opens the file and takes its lock.
Lock FolderLock::take() {
  constexpr int kSafely = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  for (;;) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | kSafely, 0666);
    if (file_ < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
      file_ = open(path_.c_str(), O_RDONLY | kSafely); // the file belongs to another user
    Lock lock = file_ < 0 ? Lock::Impossible : lockFile(file_);
    struct stat ours, now;
    if (lock != Lock::Taken || fstat(file_, &ours) != 0 ||
        (lstat(path_.c_str(), &now) == 0 && now.st_ino == ours.st_ino && now.st_dev == ours.st_dev))
      return lock;
    close(file_); // its holder removed the file after we opened it, so the next process takes another file
  }
}

FolderLock::FolderLock(const std::string &folder, const std::function<void(const std::string &)> &note)
    : path_(folder + "/.mpc-lock") {
  Lock lock = take();
  if (lock == Lock::Taken) {
    writeHolder(file_);
    return;
  }
  if (lock == Lock::Impossible && note)
    note(
        concat(folder, " cannot be locked (", std::strerror(errno), "): a second training there would not be noticed"));
  std::string who = lock == Lock::Busy ? holder(file_) : "";
  if (file_ >= 0)
    close(file_);
  file_ = -1;
  if (lock == Lock::Busy)
    fail(folder, concat("is in use: ", who, " trains there"),
         "wait for its end, or give this training a --checkpoint-dir of its own");
}

FolderLock::~FolderLock() {
  if (file_ < 0)
    return;
  unlink(path_.c_str()); // must come before the lock is released
  close(file_);
}

} // namespace mpc::rt
