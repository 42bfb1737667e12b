// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/support/OwnFile.h"

#include "runtime/support/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace mpc::rt {

/// Returns the library that holds this function, or null in the program itself.
static const char *ownLibrary() {
  Dl_info info;
  link_map *map = nullptr;
  void *here = reinterpret_cast<void *>(&ownFile);
  if (!dladdr1(here, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) || !map || !map->l_name || !*map->l_name)
    return nullptr;
  return map->l_name;
}

/// Returns the mapped file at an address, from this process's own map; empty when there is no /proc.
static std::string mappedFile(const void *address) {
  std::string found;
  std::FILE *maps = std::fopen("/proc/self/maps", "re");
  if (!maps)
    return found;
  char line[4608];
  while (found.empty() && std::fgets(line, sizeof line, maps)) {
    // The format is "BEGIN-END PERMISSIONS OFFSET DEVICE INODE   /path".
    char *rest = line;
    uintptr_t begin = std::strtoull(rest, &rest, 16);
    uintptr_t end = *rest == '-' ? std::strtoull(rest + 1, &rest, 16) : 0;
    const char *path = std::strchr(rest, '/');
    if (path && begin <= uintptr_t(address) && uintptr_t(address) < end)
      found.assign(path, std::strcspn(path, "\n"));
  }
  std::fclose(maps);
  return found;
}

std::string ownFile() {
  if (const char *library = ownLibrary()) {
    if (*library == '/')
      return library;
    std::string mapped = mappedFile(reinterpret_cast<void *>(&ownFile));
    return mapped.empty() ? library : mapped;
  }
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length > 0)
    return std::string(path, size_t(length));
  // Without /proc it is the name by which the kernel was asked to run the program.
  if (unsigned long name = getauxval(AT_EXECFN))
    return reinterpret_cast<const char *>(name);
  failErrno("/proc/self/exe", "cannot find the running program", errno);
}

void exposeOwnSymbols() {
  const char *library = ownLibrary();
  if (!library)
    return; // the program's own symbols are global already
  // The library is loaded already: this only changes its visibility, which outlives the handle.
  if (void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
    dlclose(handle);
}

} // namespace mpc::rt
