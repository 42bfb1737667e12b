//===- CodePages.cpp - Small pages for generated code ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CodePages.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

namespace mpc::onednn {

static bool takesHugePagesUnasked() {
  char modes[64] = "";
  if (FILE *file = std::fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r")) {
    if (!std::fgets(modes, sizeof modes, file))
      modes[0] = 0;
    std::fclose(file);
  }
  return std::strstr(modes, "[always]");
}

void keepCodeInSmallPages() {
  static const bool needed = takesHugePagesUnasked();
  FILE *maps = needed ? std::fopen("/proc/self/maps", "r") : nullptr;
  if (!maps)
    return;
  for (char line[512]; std::fgets(line, sizeof line, maps);) {
    uintptr_t begin = 0, end = 0;
    unsigned long inode = 1;
    char mode[5] = "";
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &begin, &end, mode, &inode) == 4 && inode == 0 &&
        std::strchr(mode, 'x') && !std::strchr(line, '['))
      madvise(reinterpret_cast<void *>(begin), end - begin, MADV_NOHUGEPAGE);
  }
  std::fclose(maps);
}

} // namespace mpc::onednn
