//===- Offsets.h - packing intervals into an arena -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_MEMORY_OFFSETS_H
#define MPC_PASSES_MEMORY_OFFSETS_H
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace mpc::memory {

/// A buffer that is live from launch `first` to launch `last`, both included.
struct Interval {
  int64_t bytes = 0, first = 0, last = 0;
  int64_t offset = -1;
};

/// Gives every interval an aligned offset >= base, so that no two intervals that are live together overlap.
/// Larger intervals are placed first, each at the lowest offset that fits (greedy by size; Pisarchyk & Lee
/// 2020, "Efficient Memory Management for Deep Neural Net Inference"). Returns the end of the highest one.
int64_t packIntervals(llvm::MutableArrayRef<Interval> intervals, int64_t base, int64_t alignment);

} // namespace mpc::memory
#endif
