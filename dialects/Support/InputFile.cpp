// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/InputFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int mpc::openRegularFile(llvm::StringRef path, std::string &why) {
  const std::string name = path.str();
  struct stat info;
  int file = ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  int error = errno;
  // A socket cannot be opened at all: open fails with ENXIO, and stat tells what the file is.
  if (file < 0 ? error != ENXIO || ::stat(name.c_str(), &info) != 0 : ::fstat(file, &info) != 0) {
    why = std::strerror(file < 0 ? error : errno);
    if (file >= 0)
      ::close(file);
    return -1;
  }
  if (file >= 0 && S_ISREG(info.st_mode))
    return file;
  if (file >= 0)
    ::close(file);
  const char *kind = S_ISDIR(info.st_mode)    ? "folder"
                     : S_ISFIFO(info.st_mode) ? "pipe"
                     : S_ISSOCK(info.st_mode) ? "socket"
                                              : "device";
  why = std::string("is a ") + kind + ", not a regular file";
  return -1;
}

std::unique_ptr<llvm::MemoryBuffer> mpc::readRegularFile(llvm::StringRef path, std::string &why) {
  int file = openRegularFile(path, why);
  if (file < 0)
    return nullptr;
  auto buffer = llvm::MemoryBuffer::getOpenFile(file, path, /*FileSize=*/-1, /*RequiresNullTerminator=*/false);
  ::close(file); // the mapping stays valid
  if (!buffer) {
    why = buffer.getError().message();
    return nullptr;
  }
  return std::move(*buffer);
}
