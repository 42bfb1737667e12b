// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shadow of shared memory, for the units that read and write it asynchronously to the threads.
#pragma once

#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

/// A place in shared memory in the form that messages use.
struct Place {
  uint32_t piece, byte;
};
Place placeOf(const Block &block, uint32_t place);

[[noreturn]] void copyUnderWay(Thread &t, const Cell &cell, const char *what, uint32_t site);
[[noreturn]] void inUse(Thread &t, uint32_t place, const Cell &cell, uint32_t site);

/// Checks that an asynchronous unit may start to read 16 bytes at `place` for thread t: the bytes must have been
/// written, `clock` must know of that write, and, if it was a store or a copy_async, a fence must have followed it.
void checkAsyncRead(Thread &t, const uint32_t *clock, uint32_t place, uint32_t site);

/// Checks that a unit may start to write 16 bytes at `place` of `block`: nobody may be using them, and the thread must
/// know of all earlier accesses to them.
void checkAsyncWrite(Thread &t, Block &block, uint32_t place, uint32_t site);
/// Records that a unit has read the cell, on behalf of a thread with this clock.
void noteRead(Cell &cell, Access read, const uint32_t *clock);

/// Calls what(cell) for the cells of `bytes` bytes at `place`.
template <typename What>
inline void forCells(Block &block, uint32_t place, uint32_t bytes, What what) {
  uint32_t shift = block.kernel->granuleLog2;
  for (uint32_t i = place >> shift, last = (place + bytes - 1) >> shift; i <= last; ++i)
    what(block.cells[i]);
}

} // namespace mpc::rt::emulator
