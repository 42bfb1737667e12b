// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Memory/Offsets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace mpc::memory;

int64_t mpc::memory::packIntervals(MutableArrayRef<Interval> intervals, int64_t base, int64_t alignment) {
  SmallVector<Interval *> bySize;
  for (Interval &interval : intervals)
    bySize.push_back(&interval);
  stable_sort(bySize, [](Interval *a, Interval *b) { return a->bytes > b->bytes; });
  SmallVector<Interval *> placed; // sorted by offset
  int64_t end = base;
  for (Interval *interval : bySize) {
    int64_t offset = base;
    for (Interval *other : placed) {
      if (other->last < interval->first || interval->last < other->first)
        continue;
      if (other->offset - offset >= interval->bytes)
        break;
      offset = std::max<int64_t>(offset, alignTo(other->offset + other->bytes, alignment));
    }
    interval->offset = offset;
    end = std::max<int64_t>(end, alignTo(offset + interval->bytes, alignment));
    placed.insert(upper_bound(placed, interval, [](Interval *a, Interval *b) { return a->offset < b->offset; }),
                  interval);
  }
  return end;
}
