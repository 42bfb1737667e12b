//===- Loop.h - one loop of #kernel.loops ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_IR_LOOP_H
#define MPC_KERNEL_IR_LOOP_H
#include "llvm/ADT/Hashing.h"
#include <cstdint>

namespace mpc::kernel {

/// A loop over neighbouring dimensions of a dispatch's space, which it walks as one row-major number.
struct Loop {
  int64_t first = 0, count = 1; ///< dimensions first, first + 1, ..., first + count - 1
  int64_t tile = 0;             ///< the iterations of a tile, which is walked as a whole; 0 where the loop has no tiles

  int64_t last() const { return first + count - 1; }
  bool operator==(const Loop &) const = default;
};
inline llvm::hash_code hash_value(const Loop &loop) { return llvm::hash_combine(loop.first, loop.count, loop.tile); }

} // namespace mpc::kernel
#endif
