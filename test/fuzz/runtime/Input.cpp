// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The linker sends the readers' calls of mmap, munmap and crc32_z to the __wrap_ functions below (CMakeLists.txt).
#include "test/fuzz/runtime/Input.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace mpc::rt::fuzz {

namespace {
int memoryFile = -1;
ino_t memoryInode = 0;
/// Copies of the file that take the place of its mappings.
std::map<void *, std::string_view> copies;

void check(bool good, const char *what) {
  if (!good)
    finding(what);
}
} // namespace

void finding(const std::string &what) {
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}

const std::string &asFile(const uint8_t *data, size_t size) {
  static std::string path;
  if (memoryFile < 0) {
    memoryFile = memfd_create("input", MFD_CLOEXEC);
    struct stat info;
    if (memoryFile < 0 || fstat(memoryFile, &info) != 0) {
      std::perror("memfd_create");
      std::exit(1);
    }
    memoryInode = info.st_ino;
    path = concat("/proc/self/fd/", memoryFile);
  }
  if (ftruncate(memoryFile, off_t(size)) != 0 || pwrite(memoryFile, data, size, 0) != ssize_t(size)) {
    std::perror("memfd");
    std::exit(1);
  }
  return path;
}

bool accepts(const std::function<void()> &reader) {
  try {
    reader();
    return true;
  } catch (const Error &error) {
    check(!error.where().empty(), "an error without a place");
    check(!error.clause().empty(), "an error without a clause");
    check(!error.hint().empty(), "an error without a hint");
    return false;
  } // any other exception ends the process in std::terminate
}

void inspect(const Array &array) {
  int64_t bytes = int64_t(sizeOf(array.dtype));
  for (int64_t extent : array.shape)
    check(extent >= 0, "a negative extent");
  // If one extent is zero, products of the other extents may overflow.
  if (std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end())
    bytes = 0;
  else
    for (int64_t extent : array.shape)
      check(!__builtin_mul_overflow(bytes, extent, &bytes), "a shape that has no size");
  check(array.elements() * int64_t(sizeOf(array.dtype)) == bytes, "elements() disagrees with the shape");
  check(toString(array.shape).size() >= 2, "a shape without a text");
  // The elements are converted as a data set reads them, to a wider type and in parts.
  size_t count = size_t(array.elements());
  std::vector<double> wide(std::min<size_t>(count, 4096));
  for (size_t done = 0; done < count; done += wide.size()) {
    size_t n = std::min(wide.size(), count - done);
    convert(array.dtype, array.data + done * sizeOf(array.dtype), MPC_F64, wide.data(), n);
  }
}

} // namespace mpc::rt::fuzz

using namespace mpc::rt::fuzz;

extern "C" {
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  struct stat info;
  if (file < 0 || memoryFile < 0 || fstat(file, &info) != 0 || info.st_ino != memoryInode || offset != 0)
    return __real_mmap(address, bytes, protection, flags, file, offset);
  void *copy = nullptr;
  if (posix_memalign(&copy, 64, bytes) != 0 || pread(file, copy, bytes, 0) != ssize_t(bytes))
    return MAP_FAILED;
  copies[copy] = {static_cast<const char *>(copy), bytes};
  return copy;
}

int __wrap_munmap(void *address, size_t bytes) {
  auto found = copies.find(address);
  if (found == copies.end())
    return __real_munmap(address, bytes);
  check(found->second.size() == bytes, "a mapping is given back with another size");
  copies.erase(found);
  std::free(address);
  return 0;
}

/// Every checksum is 0, as in the seeds, because no mutation would ever match a real one.
unsigned long __wrap_crc32_z(unsigned long, const unsigned char *, size_t) { return 0; }

/// A short quarantine keeps the memory in the cache. Leaks are looked for at the end.
const char *__asan_default_options() {
  return "quarantine_size_mb=4:allocator_may_return_null=1:detect_stack_use_after_return=0";
}
const char *__ubsan_default_options() { return "print_stacktrace=1"; }
}
