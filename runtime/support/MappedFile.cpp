// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/MappedFile.h"

#include "runtime/support/Error.h"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rt {

/// All mapped files. The list is changed under a mutex, and signal handlers read it without one. Whoever removes a file
/// waits until nobody reads.
struct MappedFiles {
  std::mutex mutex;
  std::atomic<const MappedFile *> first = nullptr;
  std::atomic<int> readers = 0;

  void add(MappedFile &file) {
    std::lock_guard lock(mutex);
    file.next_ = first.load();
    first = &file;
  }
  void remove(const MappedFile &file) {
    std::lock_guard lock(mutex);
    std::atomic<const MappedFile *> *link = &first;
    while (const MappedFile *at = *link) {
      if (at == &file) {
        *link = at->next_.load();
        break;
      }
      link = const_cast<std::atomic<const MappedFile *> *>(&at->next_);
    }
    while (readers != 0)
      sched_yield();
  }
};
static MappedFiles mapped;

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &path) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  int error = errno;
  struct stat info = {};
  if (file < 0 &&
      (error != ENXIO || stat(path.c_str(), &info) != 0)) // ENXIO means a socket, or a device without a driver
    failErrno(path, "cannot open", error);
  std::shared_ptr<MappedFile> result(new MappedFile(path, file));
  if (file >= 0 && fstat(file, &info) != 0)
    failErrno(path, "cannot open", errno);
  if (!S_ISREG(info.st_mode))
    fail(path,
         concat("is a ",
                S_ISDIR(info.st_mode)    ? "folder"
                : S_ISFIFO(info.st_mode) ? "pipe"
                : S_ISSOCK(info.st_mode) ? "socket"
                                         : "device",
                ", not a regular file"),
         S_ISDIR(info.st_mode) ? "name a file in it" : "write what it gives to a file, and name that");
  result->modified_[0] = info.st_mtim.tv_sec;
  result->modified_[1] = info.st_mtim.tv_nsec;
  if (info.st_size == 0)
    return result;
  void *data = mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED)
    failErrno(path, "cannot map", errno);
  result->data_ = data;
  result->size_ = size_t(info.st_size);
  mapped.add(*result);
  return result;
}

MappedFile::~MappedFile() {
  if (data_) {
    mapped.remove(*this);
    munmap(data_, size_);
  }
  if (file_ >= 0)
    close(file_);
}

void MappedFile::checkWhole() const {
  struct stat info;
  if (fstat(file_, &info) == 0 && size_t(info.st_size) < size_)
    fail(path_, concat("became shorter while it was read: ", info.st_size, " bytes of ", size_), kLeaveAlone);
}

bool MappedFile::changed() const {
  struct stat info;
  return fstat(file_, &info) == 0 &&
         (info.st_mtim.tv_sec != modified_[0] || info.st_mtim.tv_nsec != modified_[1] || size_t(info.st_size) < size_);
}

MappedFile::Visit::Visit(const void *address) {
  ++mapped.readers;
  const auto *byte = static_cast<const std::byte *>(address);
  file = mapped.first;
  while (file) {
    const auto *begin = static_cast<const std::byte *>(file->data_);
    if (byte >= begin && size_t(byte - begin) < file->size_)
      break;
    file = file->next_;
  }
}

MappedFile::Visit::~Visit() { --mapped.readers; }

} // namespace mpc::rt
