#include "runtime/core/data/Array.h"

#include "runtime/core/data/Idx.h"
#include "runtime/core/data/Npy.h"
#include "runtime/support/Error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpc::rt {

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    failErrno(path, "cannot open", errno);
  struct stat info;
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(file);
    fail(path, "is not a regular file", "name a file");
  }
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (info.st_size > 0) {
    void *data = mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
      int error = errno;
      close(file);
      failErrno(path, "cannot map", error);
    }
    mapped->data_ = data;
    mapped->size_ = size_t(info.st_size);
  }
  close(file);
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_)
    munmap(data_, size_);
}

Array readArrayFile(const std::string &path) {
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  std::string_view bytes = file->bytes();
  if (isNpy(bytes))
    return parseNpy(bytes, file, path);
  if (isIdx(bytes))
    return parseIdx(bytes, path);
  fail(path, bytes.empty() ? "the file is empty" : "unknown kind of data file",
       "use .npz, .npy, or IDX files (plain or .gz)");
}

} // namespace mpc::rt
