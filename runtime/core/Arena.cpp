// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Arena.h"

#include "runtime/support/Error.h"

#include <sys/mman.h>

namespace mpc::rt {

static constexpr size_t kHugePage = size_t(2) << 20;

Arena::Arena(int64_t bytes) : bytes_(bytes) {
  // One extra huge page lets the base be aligned to one.
  bool huge = size_t(bytes) >= kHugePage;
  mapped_ = (size_t(bytes) + 4096 + (huge ? kHugePage : 0)) / 4096 * 4096;
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    fail("", concat("cannot allocate the arena of ", bytes, " bytes"), "compile the model with a smaller --batch");
  }
  uintptr_t base = reinterpret_cast<uintptr_t>(mapping_);
  if (huge) {
    base = (base + kHugePage - 1) / kHugePage * kHugePage;
    madvise(reinterpret_cast<void *>(base), size_t(bytes), MADV_HUGEPAGE);
  }
  base_ = reinterpret_cast<std::byte *>(base);
}

Arena::~Arena() {
  if (mapping_)
    munmap(mapping_, mapped_);
}

} // namespace mpc::rt
