// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FailingNew.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<int64_t> remaining = 0;

bool failNew(int64_t n) { return remaining.exchange(n) > 0; }

void *operator new(size_t bytes) {
  if (remaining.load(std::memory_order_relaxed) > 0 && --remaining == 0)
    throw std::bad_alloc();
  if (void *memory = std::malloc(std::max<size_t>(bytes, 1)))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
